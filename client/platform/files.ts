import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { type FileRequest, LIST_LAYOUTS, READ_FILE } from '../../server/messages';
import { readText } from '../readText';

/** The most layouts of a folder that are checked without being open. */
const MAX_LAYOUTS = 1000;

/** Gives a language server the files of the workspace that it does not reach, of whatever file system they are. */
export function serveFiles(client: BaseLanguageClient): void {
  client.onRequest(LIST_LAYOUTS, async ({ folder }: { folder: string }) => {
    const pattern = new vscode.RelativePattern(vscode.Uri.parse(folder, true), '**/*.layout.{yaml,yml}');
    const found = await vscode.workspace.findFiles(pattern, '**/node_modules/**', MAX_LAYOUTS);
    return found.map((uri) => client.code2ProtocolConverter.asUri(uri));
  });
  client.onRequest(READ_FILE, ({ uri, most, root }: FileRequest) =>
    readText(vscode.Uri.parse(uri, true), most, root === undefined ? undefined : vscode.Uri.parse(root, true)),
  );
}
