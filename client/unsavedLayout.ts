import * as vscode from 'vscode';
import { nameOf } from './paths';

/**
 * Opens a layout that is nowhere saved yet, under a file name that every system takes: an editor would otherwise call it after its
 * first line.
 * @param name what it is of, such as `dense-64gpu` or a file's name; other characters become dashes
 */
export async function openUnsaved(name: string, content: string): Promise<vscode.TextEditor> {
  return openUnsavedAt(await freeAddress(homeOfNew(), plainName(name)), content);
}

/** Opens a file with some content at an address of `freeAddress`. */
export async function openUnsavedAt(
  address: vscode.Uri,
  content: string,
  viewColumn?: vscode.ViewColumn,
): Promise<vscode.TextEditor> {
  const document = await vscode.workspace.openTextDocument(address);
  const edit = new vscode.WorkspaceEdit();
  edit.insert(address, new vscode.Position(0, 0), content);
  await vscode.workspace.applyEdit(edit);
  const editor = await vscode.window.showTextDocument(document, { preview: false, ...(viewColumn && { viewColumn }) });
  editor.selection = new vscode.Selection(0, 0, 0, 0);
  return editor;
}

/** The longest name, without its ending. */
const MAX_NAME = 60;

/** Names that Windows keeps for devices. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

function plainName(name: string): string {
  const plain = name
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[-.]+/, '')
    .slice(0, MAX_NAME)
    .replace(/(?<![-.])[-.]+$/, '');
  return plain === '' || DEVICES.test(plain) ? 'job' : plain;
}

/** The folder that new files are for: saving writes there and asks for no name. Undefined where there is no disk. */
export function homeOfNew(): vscode.Uri | undefined {
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri;
  const home = typeof process === 'undefined' ? undefined : (process.env.HOME ?? process.env.USERPROFILE);
  return folder ?? (home === undefined ? undefined : vscode.Uri.file(home));
}

/** The address of a new layout beside the launch file that it is of. */
export const addressBeside = (launch: vscode.Uri): Promise<vscode.Uri> =>
  freeAddress(vscode.Uri.joinPath(launch, '..'), nameOf(launch).replace(/(?<=.)\.\w+$/, ''));

/** How many names are tried for a new file. */
const MAX_NAMES = 100;

/** The address of a new file, at which there is no file and no editor: `job.layout.yaml`, `job-2.layout.yaml`, ... */
export async function freeAddress(
  folder: vscode.Uri | undefined,
  name: string,
  ending = '.layout.yaml',
): Promise<vscode.Uri> {
  for (let nth = 1; ; nth++) {
    const file = `${name}${nth === 1 ? '' : `-${nth}`}${ending}`;
    const uri = folder
      ? vscode.Uri.joinPath(folder, file).with({ scheme: 'untitled' })
      : vscode.Uri.from({ scheme: 'untitled', path: file });
    const isOpen = vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString());
    if (nth === MAX_NAMES || (!isOpen && !(folder && (await exists(vscode.Uri.joinPath(folder, file)))))) {
      return uri;
    }
  }
}

async function exists(file: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(file);
    return true;
  } catch {
    return false;
  }
}
