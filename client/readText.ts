import * as vscode from 'vscode';
import { MAX_TEXT } from '../layout';

/** How many bytes a character may take. */
const CHARACTER_BYTES = 4;

/**
 * The text of a file, of whatever file system; null where it is no regular file, too large or no text.
 * @param most bytes
 * @param root a folder that symbolic links must not lead out of; left out: links are followed
 */
export async function readText(file: vscode.Uri, most: number, root?: vscode.Uri): Promise<string | null> {
  try {
    const { type, size } = await vscode.workspace.fs.stat(file);
    if ((type & vscode.FileType.File) === 0 || size > most || (root && (await isLinked(file, root)))) {
      return null;
    }
    const bytes = await vscode.workspace.fs.readFile(file);
    return bytes.includes(0) ? null : new TextDecoder().decode(bytes);
  } catch {
    // gone, or not ours to read
    return null;
  }
}

/** The text of a layout on the disk; null where there is none that is read. */
export function readLayoutText(file: vscode.Uri): Promise<string | null> {
  return readText(file, CHARACTER_BYTES * MAX_TEXT);
}

/** The text of a file with the changes that an editor has not saved yet, or as `readText` reads it. */
export async function currentText(file: vscode.Uri, most: number, root?: vscode.Uri): Promise<string | null> {
  const open = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === file.toString());
  // the disk may be ahead of an editor without changes
  return open?.isDirty ? open.getText() : ((await readText(file, most, root)) ?? open?.getText() ?? null);
}

/** The same for a layout. */
export function currentLayoutText(file: vscode.Uri): Promise<string | null> {
  return currentText(file, CHARACTER_BYTES * MAX_TEXT);
}

/** Whether a file, or a folder between it and a root, is a symbolic link: nobody here can tell where that leads. */
async function isLinked(file: vscode.Uri, root: vscode.Uri): Promise<boolean> {
  for (let at = file; at.path.length > root.path.length && at.path !== '/'; at = vscode.Uri.joinPath(at, '..')) {
    const type = await vscode.workspace.fs.stat(at).then(
      (found) => found.type,
      // some file systems know files alone
      () => vscode.FileType.Directory,
    );
    if ((type & vscode.FileType.SymbolicLink) !== 0) {
      return true;
    }
  }
  return false;
}
