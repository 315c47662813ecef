import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { type FileRequest, LIST_LAYOUTS, READ_FILE } from '../../server/messages';

/** The most layouts of a folder that are checked without being open. */
const MAX_LAYOUTS = 1000;

/** Gives a language server the files of the workspace that it does not reach, of whatever file system they are. */
export function serveFiles(client: BaseLanguageClient): void {
  client.onRequest(LIST_LAYOUTS, async ({ folder }: { folder: string }) => {
    const pattern = new vscode.RelativePattern(vscode.Uri.parse(folder, true), '**/*.layout.{yaml,yml}');
    const found = await vscode.workspace.findFiles(pattern, '**/node_modules/**', MAX_LAYOUTS);
    return found.map((uri) => client.code2ProtocolConverter.asUri(uri));
  });
  client.onRequest(READ_FILE, async ({ uri, most, root }: FileRequest) => {
    const file = vscode.Uri.parse(uri, true);
    try {
      const { type, size } = await vscode.workspace.fs.stat(file);
      const isSuitable = (type & vscode.FileType.File) !== 0 && size <= most;
      return isSuitable && (root === undefined || !(await isLinked(file, vscode.Uri.parse(root, true))))
        ? new TextDecoder().decode(await vscode.workspace.fs.readFile(file))
        : null;
    } catch {
      // gone, or not ours to read
      return null;
    }
  });
}

/** Whether a file, or a folder between it and a root, is a symbolic link: nobody here can tell where that leads. */
async function isLinked(file: vscode.Uri, root: vscode.Uri): Promise<boolean> {
  for (let at = file; at.path.length > root.path.length && at.path !== '/'; at = vscode.Uri.joinPath(at, '..')) {
    const { type } = await vscode.workspace.fs.stat(at).then(
      (found) => found,
      // some file systems know files alone
      () => ({ type: vscode.FileType.Directory }),
    );
    if ((type & vscode.FileType.SymbolicLink) !== 0) {
      return true;
    }
  }
  return false;
}
