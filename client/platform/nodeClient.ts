import * as vscode from 'vscode';
import { LanguageClient, TransportKind } from 'vscode-languageclient/node';
import { CLIENT, type CreateClient } from './platform';

/** Clients whose server is a process. */
export function clientsOf(dist: vscode.Uri): CreateClient {
  const run = {
    module: vscode.Uri.joinPath(dist, 'server.js').fsPath,
    transport: TransportKind.ipc,
    // as in the first line of server.js
    options: { execArgv: ['--max-semi-space-size=4'] },
  };
  return (options) => new LanguageClient(CLIENT.id, CLIENT.name, { run, debug: run }, options);
}
