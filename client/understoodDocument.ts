import type * as vscode from 'vscode';
import { type Understood, understand } from '../layout';

const known = new WeakMap<vscode.TextDocument, Understood>();

/** What a document's present text says, read once for all callers. What is wrong with it the language server says. */
export function understoodDocument(document: vscode.TextDocument): Understood {
  const text = document.getText();
  const last = known.get(document);
  const understood = last?.text === text ? last : understand(text);
  known.set(document, understood);
  return understood;
}
