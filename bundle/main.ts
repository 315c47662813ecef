// The whole product is bundled once, into dist/main.js, and these are its doors: the editor loads the file as the extension in
// the web, and on Node dist/extension.js, dist/server.js and dist/cli.js do; in the web the client starts the same file as the
// server's worker. What a door needs is loaded behind it, so none pays for the others.
import type { ExtensionContext } from 'vscode';

/** Called by the editor when a layout file is opened or a command of ours is run. */
export async function activate(context: ExtensionContext): Promise<void> {
  const { activate: start } = await import('../client/extension');
  const { platform } = isWorker() ? await import('../client/platform/web') : await import('../client/platform/node');
  return start(context, platform);
}

/** Called by the editor before it ends. */
export async function deactivate(): Promise<void> {
  const { deactivate: stop } = await import('../client/extension');
  return stop();
}

/** Runs the language server in this process. */
export const startServer = () => import('../server/stdio');

/** Runs the command line in this process. */
export const startCommandLine = () => import('../cli/main');

function isWorker(): boolean {
  return 'importScripts' in globalThis;
}

// an extension in the web is given a `require`, a worker of its own is not
if (isWorker() && typeof require === 'undefined') {
  void import('../server/worker');
}
