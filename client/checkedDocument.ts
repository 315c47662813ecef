import type * as vscode from 'vscode';
import { type Checked, Checker, once } from '../layout';

const checkerOf = once((_: vscode.TextDocument) => new Checker());

/**
 * What is known of a document as it is now. All that shows something of it asks here, and the text is looked at once: where it
 * changed since the last time. It holds until the document changes.
 */
export function checkedDocument(document: vscode.TextDocument): Checked {
  return checkerOf(document).check(document.getText());
}
