import type { ExtensionContext } from 'vscode';
import { activate as start } from './extension';
import { platform } from './platform/web';

export { deactivate } from './extension';

/** Called by an editor in a browser, when a layout file is opened or a command of ours is run. */
export function activate(context: ExtensionContext): void {
  start(context, platform);
}
