import * as vscode from 'vscode';
import { registerSmokeJobs } from '../jobs';
import { LayoutTasks } from '../tasks';
import type { Platform } from './platform';

/** The editor on a machine: the server is a process, and so are smoke jobs and tasks. */
export const platform: Platform = {
  async loadClient(dist) {
    const { clientsOf } = await import('./nodeClient');
    return clientsOf(dist);
  },

  registerJobs(host) {
    const cli = vscode.Uri.joinPath(host.context.extensionUri, 'dist', 'cli.js');
    return vscode.Disposable.from(
      registerSmokeJobs(host),
      vscode.tasks.registerTaskProvider('parallelism-layout', new LayoutTasks(cli, host.context.globalStorageUri)),
    );
  },
};
