import type * as vscode from 'vscode';
import { type Checked, check, memoize } from '../layout';

const lastOf = memoize((_: vscode.TextDocument): { checked: Checked | null } => ({ checked: null }));

/** The check of a document's present text, done once for all callers. */
export function checkedDocument(document: vscode.TextDocument): Checked {
  const last = lastOf(document);
  const text = document.getText();
  if (last.checked?.text !== text) {
    last.checked = check(text);
  }
  return last.checked;
}
