import * as vscode from 'vscode';
import { LanguageClient, TransportKind } from 'vscode-languageclient/node';
import type { CreateClient } from '../languageClient';
import { serveFiles } from './files';
import { CLIENT } from './platform';

/** Clients whose server is a process, which gets the bundle of the server from a folder. */
export function processClients(dist: vscode.Uri): CreateClient {
  // in the workspace's folder, Node would take modules that NODE_OPTIONS names from there
  const options = { cwd: dist.fsPath, env: { NODE_OPTIONS: '' } };
  const run = { module: vscode.Uri.joinPath(dist, 'server.js').fsPath, transport: TransportKind.ipc, options };
  return (options) => {
    const client = new LanguageClient(CLIENT.id, CLIENT.name, { run, debug: run }, options);
    serveFiles(client);
    return client;
  };
}
