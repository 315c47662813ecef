import * as vscode from 'vscode';
import { LanguageClient, TransportKind } from 'vscode-languageclient/node';
import { SERVER_PROCESS } from '../../server/processFlags';
import { CLIENT, type CreateClient } from './platform';

/** Clients whose server is a process. */
export function clientsOf(dist: vscode.Uri): CreateClient {
  const run = {
    module: vscode.Uri.joinPath(dist, 'server.js').fsPath,
    transport: TransportKind.ipc,
    options: { execArgv: SERVER_PROCESS.flags, env: SERVER_PROCESS.env },
  };
  return (options) => new LanguageClient(CLIENT.id, CLIENT.name, { run, debug: run }, options);
}
