import type * as vscode from 'vscode';
import { memoize, type Understood, understand } from '../layout';

const lastOf = memoize((_: vscode.TextDocument): { understood: Understood | null } => ({ understood: null }));

/** What a document's present text says, read once for all callers. What is wrong with it the language server says. */
export function understoodDocument(document: vscode.TextDocument): Understood {
  const last = lastOf(document);
  const text = document.getText();
  if (last.understood?.text !== text) {
    last.understood = understand(text);
  }
  return last.understood;
}
