import * as vscode from 'vscode';
import { showInformation } from './notifications';

/** The language of layout files. */
export const LANGUAGE = 'parallelism-layout';

/**
 * The layout that a command is for: the one that a menu (an address), a lens of the server (an address as text) or a key
 * binding (`{"file": ...}`, `{"uri": ...}`) names, or else the one in the active editor. Says so where there is none.
 */
export async function layoutDocument(argument: unknown): Promise<vscode.TextDocument | undefined> {
  const named = addressOf(argument);
  const document = named ? await vscode.workspace.openTextDocument(named) : vscode.window.activeTextEditor?.document;
  if (document?.languageId === LANGUAGE) {
    return document;
  }
  void showInformation(vscode.l10n.t('Open a layout file (*.layout.yaml) first.'));
  return undefined;
}

function addressOf(argument: unknown): vscode.Uri | undefined {
  if (argument instanceof vscode.Uri) {
    return argument;
  }
  if (typeof argument === 'string') {
    return vscode.Uri.parse(argument, true);
  }
  if (typeof argument !== 'object' || argument === null) {
    return undefined;
  }
  if ('uri' in argument && typeof argument.uri === 'string') {
    return vscode.Uri.parse(argument.uri, true);
  }
  return 'file' in argument && typeof argument.file === 'string' ? vscode.Uri.file(argument.file) : undefined;
}

/** A line from its first character that is no blank, for a diagnostic; a line beyond the text is its last one. */
export function rangeOfLine(document: vscode.TextDocument, line: number): vscode.Range {
  const at = document.lineAt(Math.min(Math.max(0, line), document.lineCount - 1));
  return new vscode.Range(at.range.start.with({ character: at.firstNonWhitespaceCharacterIndex }), at.range.end);
}
