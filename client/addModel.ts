import * as vscode from 'vscode';
import { MODEL_NAMES, modelText } from '../layout';
import { understoodDocument } from './understoodDocument';

/** The sizes that memory and time of a model follow from; the numbers are a person's to write. */
const SIZES = ['num_layers', 'hidden_size', 'num_attention_heads', 'vocab_size'] as const;

/** Asks for the model of a layout, and writes its name or the keys of its sizes at the end of the file. */
export async function addModel(document: vscode.TextDocument): Promise<void> {
  if (understoodDocument(document).facts?.root.model.written) {
    return;
  }
  const own = {
    label: vscode.l10n.t('A model of my own'),
    description: vscode.l10n.t('write its sizes: {0}', SIZES.join(', ')),
  };
  const known = MODEL_NAMES.map((label) => ({ label, description: modelText(label) }));
  const placeHolder = vscode.l10n.t('Which model does the job train? Its sizes tell memory, traffic and time.');
  const chosen = await vscode.window.showQuickPick([own, ...known], { placeHolder, matchOnDescription: true });
  if (chosen) {
    const keys = chosen === own ? SIZES.map((key, i) => `  ${key}: $${i + 1}`) : [`  from: ${chosen.label}`];
    await insertAtEnd(document, `model:\n${keys.join('\n')}\n`);
  }
}

/** Inserts lines behind the last one, and lets a person fill their gaps. */
async function insertAtEnd(document: vscode.TextDocument, snippet: string): Promise<void> {
  const editor = await vscode.window.showTextDocument(document);
  const end = document.lineAt(document.lineCount - 1).range.end;
  const gap = end.character === 0 ? '\n' : '\n\n';
  await editor.insertSnippet(new vscode.SnippetString(gap + snippet), end);
}
