import type * as vscode from 'vscode';
import { type Checked, check, memoize } from '../layout';

const lastOf = memoize((_: vscode.TextDocument): { checked: Checked | null } => ({ checked: null }));

/** What is known of a document's present text, which is checked once for all that show something of it. */
export function checkedDocument(document: vscode.TextDocument): Checked {
  const last = lastOf(document);
  const text = document.getText();
  if (last.checked?.text !== text) {
    last.checked = check(text);
  }
  return last.checked;
}
