import { GridApp, type VsCodeApi } from './panel/app';

declare function acquireVsCodeApi(): VsCodeApi;

const root = document.getElementById('app');
if (root) {
  new GridApp(root, acquireVsCodeApi());
}
