import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { MAX_TEXT } from '../../layout';
import { LIST_LAYOUTS, READ_LAYOUT } from '../../server/messages';

/** The most layouts of a folder that are checked without being open. */
const MAX_LAYOUTS = 1000;

/** How many bytes a character may take. */
const MAX_BYTES = 4 * MAX_TEXT;

/** Gives a language server that reaches no files those of the workspace, of whatever file system they are. */
export function serveFiles(client: BaseLanguageClient): void {
  client.onRequest(LIST_LAYOUTS, async ({ folder }: { folder: string }) => {
    const pattern = new vscode.RelativePattern(vscode.Uri.parse(folder, true), '**/*.layout.{yaml,yml}');
    const found = await vscode.workspace.findFiles(pattern, '**/node_modules/**', MAX_LAYOUTS);
    return found.map((uri) => client.code2ProtocolConverter.asUri(uri));
  });
  client.onRequest(READ_LAYOUT, async ({ uri }: { uri: string }) => {
    const file = vscode.Uri.parse(uri, true);
    try {
      const { size } = await vscode.workspace.fs.stat(file);
      return size > MAX_BYTES ? null : new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
    } catch {
      // gone, or not ours to read
      return null;
    }
  });
}
