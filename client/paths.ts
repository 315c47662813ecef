import { Uri, window } from 'vscode';

/** The last part of a path. */
export const nameOf = ({ path }: Uri): string => path.split('/').at(-1) ?? path;

/** Asks for a file; the dialog begins in the folder of another one. @param filters endings of files, under what they are called */
export async function chooseFileBeside(file: Uri, filters: Record<string, string[]>): Promise<Uri | undefined> {
  return (await window.showOpenDialog({ defaultUri: Uri.joinPath(file, '..'), filters }))?.[0];
}

/** The path of an address of this machine's files; undefined for another address. */
export function localPath(address: string): string | undefined {
  try {
    const { scheme, authority, fsPath } = Uri.parse(address, true);
    return scheme === 'file' || (scheme === 'vscode-remote' && authority !== '') ? fsPath : undefined;
  } catch {
    return undefined;
  }
}
