// What the tests do in the editor, by names that a person would use.
import { strict as assert } from 'node:assert';
import * as vscode from 'vscode';
import { until } from '../../harness/until';

const SOURCE = 'parallelism-layout';

export const folder = () => {
  const [first] = vscode.workspace.workspaceFolders ?? [];
  assert.ok(first, 'a folder is open');
  return first;
};

export async function open(name: string): Promise<vscode.TextEditor> {
  return vscode.window.showTextDocument(vscode.Uri.joinPath(folder().uri, name));
}

export const findings = (uri: vscode.Uri) =>
  vscode.languages.getDiagnostics(uri).filter(({ source }) => source === SOURCE);

/** Waits until a file has so many diagnostics that are wanted, or any where no number is given. */
export const untilFindings = (uri: vscode.Uri, count?: number, isWanted = (_: vscode.Diagnostic) => true) =>
  until(
    () => findings(uri).filter(isWanted),
    ({ length }) => (count === undefined ? length > 0 : length === count),
    `${count ?? 'some'} diagnostics`,
  );

export const codeOf = ({ code }: vscode.Diagnostic) => (typeof code === 'object' ? code.value : code);

/** Opens the folders beside the workspace's file, which names none; waits until the editor has taken them. */
export async function openFolders(...names: readonly string[]): Promise<void> {
  const file = vscode.workspace.workspaceFile;
  assert.ok(file, 'a workspace is open');
  const folders = names.map((name) => ({ uri: vscode.Uri.joinPath(file, '..', name) }));
  const taken = new Promise<void>((done) => {
    const listener = vscode.workspace.onDidChangeWorkspaceFolders(() => {
      listener.dispose();
      done();
    });
  });
  assert.ok(vscode.workspace.updateWorkspaceFolders(0, 0, ...folders));
  await taken;
}

let made = 0;

/**
 * A folder that no test has had before: for minutes after its editor is closed, the editor shows a file as it was, before it looks
 * at the disk again.
 */
export const newFolder = (name: string) => vscode.Uri.joinPath(folder().uri, `${name}-${++made}`);

/** Closes all editors; what is not saved is lost. One with changes would ask whether they are to be saved. */
export async function closeAll(): Promise<void> {
  const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  for (const { input, isDirty } of tabs()) {
    if (isDirty && input instanceof vscode.TabInputText) {
      await vscode.window.showTextDocument(input.uri);
      await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    }
  }
  await vscode.window.tabGroups.close(tabs());
}

/** Does something again and again until a command has ended, as what the command shows may come later. */
export async function untilEnded(
  running: Thenable<unknown>,
  act: () => Thenable<unknown>,
  what: string,
): Promise<void> {
  let ended = false;
  const end = Promise.resolve(running).finally(() => {
    ended = true;
  });
  const look = async () => {
    await act();
    return ended;
  };
  await until(look, Boolean, `the end of ${what}`);
  await end;
}

/** Replaces the first occurrence of a text in an editor. */
export async function replace(editor: vscode.TextEditor, from: string, to: string): Promise<void> {
  const { document } = editor;
  const at = document.getText().indexOf(from);
  assert.ok(at >= 0, `${from} is in the file`);
  const range = new vscode.Range(document.positionAt(at), document.positionAt(at + from.length));
  assert.ok(await editor.edit((edit) => edit.replace(range, to)));
}

export async function revert(editor: vscode.TextEditor): Promise<void> {
  await vscode.window.showTextDocument(editor.document);
  await vscode.commands.executeCommand('workbench.action.files.revert');
}

/** Asks the editor's providers of a feature, as the editor itself does. */
export async function ask<T>(feature: string, ...arguments_: unknown[]): Promise<T> {
  return vscode.commands.executeCommand<T>(`vscode.execute${feature}Provider`, ...arguments_);
}

/** The labels that completion offers at a place. */
export async function offer(editor: vscode.TextEditor, at: vscode.Position): Promise<string[]> {
  const list = await ask<vscode.CompletionList>('CompletionItem', editor.document.uri, at);
  return list.items.map(({ label }) => (typeof label === 'string' ? label : label.label));
}

/** Where a text starts or ends in an editor. */
export function place({ document }: vscode.TextEditor, text: string, side: 'start' | 'end'): vscode.Position {
  const at = document.getText().indexOf(text);
  assert.ok(at >= 0, `${text} is in the file`);
  return document.positionAt(at + (side === 'end' ? text.length : 0));
}

export const textOf = (content: vscode.MarkdownString | vscode.MarkedString) =>
  typeof content === 'string' ? content : content.value;
