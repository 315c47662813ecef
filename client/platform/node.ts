import * as vscode from 'vscode';
import { LanguageClient, TransportKind } from 'vscode-languageclient/node';
import { recordScript } from '../../jobs';
import { registerSmokeJobs } from '../jobs';
import { LayoutTasks } from '../tasks';
import { registerVerify } from '../verify';
import { serveFiles } from './files';
import { CLIENT, type Platform } from './platform';

/** The editor on a machine: the server is a process, and so are smoke jobs and tasks. */
export const platform: Platform = {
  createClient(dist) {
    // in the workspace's folder, Node would take modules that NODE_OPTIONS names from there
    const options = { cwd: dist.fsPath, env: { NODE_OPTIONS: '' } };
    const run = { module: vscode.Uri.joinPath(dist, 'server.js').fsPath, transport: TransportKind.ipc, options };
    return (options) => {
      const client = new LanguageClient(CLIENT.id, CLIENT.name, { run, debug: run }, options);
      serveFiles(client);
      return client;
    };
  },

  registerJobs(host) {
    const cli = vscode.Uri.joinPath(host.context.extensionUri, 'dist', 'cli.js');
    return vscode.Disposable.from(
      registerSmokeJobs(host),
      registerVerify(host),
      vscode.tasks.registerTaskProvider('parallelism-layout', new LayoutTasks(cli, host.context.globalStorageUri)),
    );
  },

  recordScript: (file, signal) => recordScript(file, { signal }),
};
