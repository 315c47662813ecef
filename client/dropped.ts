import * as vscode from 'vscode';

/** The media type of files that are dragged. */
const FILES = 'text/uri-list';

/** The kind of edits that this extension makes of what is dropped or pasted. */
export const EDIT_KIND = vscode.DocumentDropOrPasteEditKind.Empty.append('parallelismLayout');

/** When a drop provider is asked: where files are dropped. */
export const FILE_DROPS: vscode.DocumentDropEditProviderMetadata = {
  providedDropEditKinds: [EDIT_KIND],
  dropMimeTypes: [FILES],
};

/** The addresses of dropped files. */
export async function droppedAddresses(data: vscode.DataTransfer): Promise<readonly string[]> {
  const list = (await data.get(FILES)?.asString()) ?? '';
  return list.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
}
