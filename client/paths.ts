import { Uri } from 'vscode';

/** The last part of a path. */
export const nameOf = ({ path }: Uri): string => path.split('/').at(-1) ?? path;

/** The path of an address of this machine's files; undefined for another address. */
export function localPath(address: string): string | undefined {
  try {
    const { scheme, authority, fsPath } = Uri.parse(address, true);
    return scheme === 'file' || (scheme === 'vscode-remote' && authority !== '') ? fsPath : undefined;
  } catch {
    return undefined;
  }
}
