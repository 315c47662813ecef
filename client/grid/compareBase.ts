import * as vscode from 'vscode';
import { understand } from '../../layout';
import type { CompareWith, PanelBase } from '../../webview/panel/messages';
import { fileItems, LAYOUT_FILE, layoutFiles } from '../layoutDocument';
import { nameOf } from '../paths';
import { readLayoutText } from '../readText';
import { textInLastCommit } from './lastCommit';

/**
 * The layout that a document is compared with; null where a person chose none.
 * @param file the address of the file to compare with, where it is known from before
 * @throws NoCommitError, vscode.FileSystemError where it cannot be read
 */
export async function baseFor(document: vscode.Uri, what: CompareWith, file: string | null): Promise<PanelBase | null> {
  if (what === 'nothing') {
    return null;
  }
  if (what === 'commit') {
    return baseOf(await textInLastCommit(document), vscode.l10n.t('the last commit'), null);
  }
  const uri = file !== null && LAYOUT_FILE.test(file) ? vscode.Uri.parse(file, true) : await chooseFile(document);
  return uri ? baseOf(await textOf(uri), nameOf(uri), uri.toString()) : null;
}

function baseOf(text: string, title: string, file: string | null): PanelBase {
  const layout = understand(text).resolved;
  const problem = layout ? null : vscode.l10n.t('{0} has errors. Fix them before you compare.', title);
  return { title, file, layout, problem };
}

/** The text of a file, with the changes of an open editor. */
async function textOf(uri: vscode.Uri): Promise<string> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  const text = open ? open.getText() : await readLayoutText(uri);
  if (text === null) {
    throw vscode.FileSystemError.Unavailable(uri);
  }
  return text;
}

/** Asks for another layout file: one of the workspace, or any other. */
async function chooseFile(document: vscode.Uri): Promise<vscode.Uri | undefined> {
  const items = fileItems((await layoutFiles()).filter((uri) => uri.toString() !== document.toString()));
  const browse = { label: vscode.l10n.t('Browse...'), description: '', uri: undefined };
  const placeHolder = vscode.l10n.t('Compare {0} with which layout?', nameOf(document));
  const chosen = await vscode.window.showQuickPick([...items, browse], { placeHolder, matchOnDescription: true });
  if (chosen !== browse) {
    return chosen?.uri;
  }
  const [file] =
    (await vscode.window.showOpenDialog({
      defaultUri: vscode.Uri.joinPath(document, '..'),
      filters: { [vscode.l10n.t('Layouts')]: ['layout.yaml', 'layout.yml', 'yaml', 'yml'] },
    })) ?? [];
  return file;
}
