import * as vscode from 'vscode';
import { observeScript } from '../../jobs';
import { activate as start } from '../extension';
import { registerSmokeJobs } from '../jobs';
import { LayoutTasks } from '../tasks';
import { registerVerify } from '../verify';
import type { Platform } from './platform';

/** The editor on a machine: the server is a process, and so are smoke jobs and tasks. */
const platform: Platform = {
  async clients(dist) {
    const { processClients } = await import('./nodeClient');
    return processClients(dist);
  },

  registerJobs(host) {
    const cli = vscode.Uri.joinPath(host.context.extensionUri, 'dist', 'cli.js');
    return vscode.Disposable.from(
      registerSmokeJobs(host),
      registerVerify(host),
      vscode.tasks.registerTaskProvider('parallelism-layout', new LayoutTasks(cli, host.context.globalStorageUri)),
    );
  },

  observeScript: (file, limit, signal) => observeScript(file, { limit, signal }),
};

/** Called when a layout file is opened or a command of ours is run. */
export function activate(context: vscode.ExtensionContext): void {
  start(context, platform);
}

export { deactivate } from '../extension';
