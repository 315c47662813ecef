import * as vscode from 'vscode';

/**
 * Opens a layout that is nowhere saved yet, under a file name that every system takes: an editor would otherwise call it after its
 * first line.
 * @param name what it is of, such as `dense-64gpu` or a file's name; other characters become dashes
 */
export async function openUnsaved(name: string, content: string): Promise<vscode.TextEditor> {
  const document = await vscode.workspace.openTextDocument(freeUri(plainName(name)));
  const edit = new vscode.WorkspaceEdit();
  edit.insert(document.uri, new vscode.Position(0, 0), content);
  await vscode.workspace.applyEdit(edit);
  return vscode.window.showTextDocument(document);
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
    .replace(/[-.]+$/, '');
  return plain === '' || DEVICES.test(plain) ? 'job' : plain;
}

/** A name that no open document has: `dense-64gpu.layout.yaml`, `dense-64gpu-2.layout.yaml`, ... */
function freeUri(name: string): vscode.Uri {
  const taken = new Set(vscode.workspace.textDocuments.map(({ uri }) => uri.toString()));
  for (let nth = 1; ; nth++) {
    const uri = vscode.Uri.from({ scheme: 'untitled', path: `${name}${nth === 1 ? '' : `-${nth}`}.layout.yaml` });
    if (!taken.has(uri.toString())) {
      return uri;
    }
  }
}
