/**
 * How the rank grid is bundled: for the extension, and alone for tests and benchmarks.
 * @type {import('esbuild').BuildOptions}
 */
export const PANEL = {
  entryPoints: ['webview/main.ts', 'webview/grid.css'],
  platform: 'browser',
  target: 'es2022',
  format: 'iife',
  // most of it runs with the first picture, which would otherwise wait until function after function is compiled
  banner: { js: '//# allFunctionsCalledOnLoad' },
};
