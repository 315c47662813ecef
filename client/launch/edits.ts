import * as vscode from 'vscode';
import { addressBeside, openUnsavedAt } from '../unsavedLayout';
import { launchOfLayout } from './scriptLayouts';

/** What turns a document's text into another, without touching what both begin and end with. */
export function changeTo(document: vscode.TextDocument, after: string): vscode.WorkspaceEdit {
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
  const change = new vscode.WorkspaceEdit();
  change.replace(document.uri, range, after.slice(start, after.length - same));
  return change;
}

/**
 * Makes the text of a layout another one; one undo takes it back. The layout that a launch file describes stays as it is: the
 * text opens as a new layout beside the launch file.
 */
export async function replaceLayout(document: vscode.TextDocument, text: string): Promise<void> {
  const launch = launchOfLayout(document.uri);
  if (launch) {
    await openUnsavedAt(await addressBeside(launch), text);
    return;
  }
  await vscode.workspace.applyEdit(changeTo(document, text));
}
