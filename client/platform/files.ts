import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { type FileRequest, LIST_LAYOUTS, READ_FILE } from '../../server/messages';
import { layoutFiles } from '../layoutDocument';
import { readText } from '../readText';

/** Gives a language server the files of the workspace that it does not reach, of whatever file system they are. */
export function serveFiles(client: BaseLanguageClient): void {
  client.onRequest(LIST_LAYOUTS, async ({ folder }: { folder: string }) => {
    const found = await layoutFiles(vscode.Uri.parse(folder, true));
    return found.map((uri) => client.code2ProtocolConverter.asUri(uri));
  });
  client.onRequest(READ_FILE, ({ uri, most, root }: FileRequest) =>
    readText(vscode.Uri.parse(uri, true), most, root === undefined ? undefined : vscode.Uri.parse(root, true)),
  );
}
