import type { ExtensionContext } from 'vscode';
import { activate as start } from './extension';
import { platform } from './platform/node';

export { deactivate } from './extension';

/** Called by an editor that runs on a machine, when a layout file is opened or a command of ours is run. */
export function activate(context: ExtensionContext): void {
  start(context, platform);
}
