/// <reference lib="webworker" />
import * as vscode from 'vscode';
import { BrowserMessageReader, BrowserMessageWriter, LanguageClient } from 'vscode-languageclient/browser';
import { CLIENT, type CreateClient } from './platform';
import { serveFiles } from './webFiles';

/** Clients whose server is a worker. */
export function clientsOf(dist: vscode.Uri): CreateClient {
  return (options) => {
    let worker: Worker | undefined;
    const start = async () => {
      // a client that is started again leaves its last worker to us
      worker?.terminate();
      worker = await startWorker(vscode.Uri.joinPath(dist, 'main.js'));
      return { reader: new BrowserMessageReader(worker), writer: new BrowserMessageWriter(worker) };
    };
    const client = new LanguageClient(CLIENT.id, CLIENT.name, start, options);
    serveFiles(client);
    return client;
  };
}

/** The editor reads the script, since a worker can be started from an address of its own only, not from one of a remote. */
async function startWorker(script: vscode.Uri): Promise<Worker> {
  const content = await vscode.workspace.fs.readFile(script);
  const url = URL.createObjectURL(new Blob([new Uint8Array(content)], { type: 'text/javascript' }));
  return new Worker(url);
}
