import * as vscode from 'vscode';
import { workbenchText } from '../layout';
import { showInformation } from './notifications';
import { nameOf } from './paths';

/** The language of layout files. */
export const LANGUAGE = 'parallelism-layout';

/** How many layouts of the workspace, or of a folder of it, are offered, checked by a task, or by a server that reaches none. */
const MAX_FILES = 1000;

/**
 * The layout that a command is for: the one that a menu (an address), a lens of the server (an address as text) or a key
 * binding (`{"file": ...}`, `{"uri": ...}`) names, or else the one in the active editor. Where that holds none, such as the
 * walkthrough, the layout that is open, or one that a person chooses.
 */
export async function layoutDocument(argument: unknown): Promise<vscode.TextDocument | undefined> {
  const named = addressOf(argument);
  const document = named ? await vscode.workspace.openTextDocument(named) : vscode.window.activeTextEditor?.document;
  if (document?.languageId === LANGUAGE) {
    return document;
  }
  const uri = named ? undefined : await openOrChosen();
  return uri && vscode.workspace.openTextDocument(uri);
}

/** The address that an argument of a command names. */
export function addressOf(argument: unknown): vscode.Uri | undefined {
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

/** The layout that an editor holds; where it is not one alone, the layout that a person chooses. */
async function openOrChosen(): Promise<vscode.Uri | undefined> {
  const open = openLayouts();
  if (open.length === 1) {
    return open[0];
  }
  const files = open.length > 0 ? open : await layoutFiles();
  if (files.length === 0) {
    await offerFirst();
    return undefined;
  }
  const placeHolder = vscode.l10n.t('Which layout?');
  return (await vscode.window.showQuickPick(fileItems(files), { placeHolder, matchOnDescription: true }))?.uri;
}

/** The layouts in tabs, also in those that have not been looked at since the window opened. */
function openLayouts(): readonly vscode.Uri[] {
  const tabs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
  const uris = tabs.flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri] : []));
  const known = new Map(vscode.workspace.textDocuments.map((document) => [document.uri.toString(), document]));
  const layouts = uris.filter((uri) => {
    const document = known.get(uri.toString());
    return document ? document.languageId === LANGUAGE : LAYOUT_FILE.test(uri.path);
  });
  return [...new Map(layouts.map((uri) => [uri.toString(), uri])).values()];
}

/** How layout files are named. */
export const LAYOUT_FILE = /\.layout\.ya?ml$/;

/** The layout files of the workspace, or of a folder of it. */
export async function layoutFiles(folder?: vscode.WorkspaceFolder | vscode.Uri): Promise<readonly vscode.Uri[]> {
  const pattern = '**/*.layout.{yaml,yml}';
  const found = folder ? new vscode.RelativePattern(folder, pattern) : pattern;
  return vscode.workspace.findFiles(found, '**/node_modules/**', MAX_FILES);
}

/** Files to choose from, with their places in the workspace. */
export const fileItems = (files: readonly vscode.Uri[]) =>
  files
    .map((uri) => ({
      label: workbenchText(nameOf(uri)),
      description: workbenchText(vscode.workspace.asRelativePath(uri)),
      uri,
    }))
    .sort((a, b) => a.description.localeCompare(b.description));

/** Says that there is no layout yet, and offers to begin one. */
async function offerFirst(): Promise<void> {
  const create = vscode.l10n.t('New Layout File...');
  const message = vscode.l10n.t('There is no layout file (*.layout.yaml) in this workspace yet.');
  if ((await showInformation(message, create)) === create) {
    await vscode.commands.executeCommand('parallelismLayout.newLayout');
  }
}

/** The document that an argument of a command names by its address as text, if nothing is written in it yet. */
export async function emptyLayout(argument: unknown): Promise<vscode.TextDocument | undefined> {
  const document =
    typeof argument === 'string'
      ? await vscode.workspace.openTextDocument(vscode.Uri.parse(argument, true))
      : undefined;
  return document?.getText().trim() === '' ? document : undefined;
}

/** Calls a listener with each layout that was edited, once its edits rest. @param delay milliseconds */
export function onDidRest(listener: (document: vscode.TextDocument) => unknown, delay: number): vscode.Disposable {
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const listening = vscode.workspace.onDidChangeTextDocument(({ document }) => {
    if (document.languageId === LANGUAGE) {
      const key = document.uri.toString();
      clearTimeout(timers.get(key));
      timers.set(
        key,
        setTimeout(() => listener(document), delay),
      );
    }
  });
  return new vscode.Disposable(() => {
    listening.dispose();
    timers.forEach(clearTimeout);
  });
}

/** A line from its first character that is no blank, for a diagnostic; a line beyond the text is its last one. */
export function rangeOfLine(document: vscode.TextDocument, line: number): vscode.Range {
  const at = document.lineAt(Math.min(Math.max(0, line), document.lineCount - 1));
  return new vscode.Range(at.range.start.with({ character: at.firstNonWhitespaceCharacterIndex }), at.range.end);
}
