/// <reference lib="webworker" />
import * as vscode from 'vscode';
import { BrowserMessageReader, BrowserMessageWriter, LanguageClient } from 'vscode-languageclient/browser';
import { activate as start } from '../extension';
import { serveFiles } from './files';
import { CLIENT, type Platform } from './platform';

/** The editor in a browser: the server is a worker, and nothing can be started. */
const platform: Platform = {
  async clients(dist) {
    return (options) => {
      let worker: Worker | undefined;
      const start = async () => {
        // a client that is started again does not end its last worker
        worker?.terminate();
        worker = await startWorker(vscode.Uri.joinPath(dist, 'web', 'server.js'));
        return { reader: new BrowserMessageReader(worker), writer: new BrowserMessageWriter(worker) };
      };
      const client = new LanguageClient(CLIENT.id, CLIENT.name, start, options);
      serveFiles(client);
      return client;
    };
  },
};

/** Starts a worker from a copy of its script: a browser starts none from the address of a remote. */
async function startWorker(script: vscode.Uri): Promise<Worker> {
  const content = await vscode.workspace.fs.readFile(script);
  const url = URL.createObjectURL(new Blob([new Uint8Array(content)], { type: 'text/javascript' }));
  return new Worker(url);
}

/** Called when a layout file is opened or a command of ours is run. */
export function activate(context: vscode.ExtensionContext): void {
  start(context, platform);
}

export { deactivate } from '../extension';
