import * as vscode from 'vscode';

/** Adds to a change what turns a document's text into another, without touching what both begin and end with. */
export function replaceChanged(change: vscode.WorkspaceEdit, document: vscode.TextDocument, after: string): void {
  const before = document.getText();
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) {
    start++;
  }
  let same = 0;
  while (same < most - start && before.at(-1 - same) === after.at(-1 - same)) {
    same++;
  }
  const range = new vscode.Range(document.positionAt(start), document.positionAt(before.length - same));
  change.replace(document.uri, range, after.slice(start, after.length - same));
}
