import { MAX_TEXT } from '../layout';

/** Files that no editor has open, as the platform gives them. Addresses are those that an editor would use. */
export interface Files {
  /** The layout files under a folder. */
  list(folder: string): AsyncIterable<string>;
  /** A file's text; null where it cannot be read. */
  read(uri: string): Promise<string | null>;
  /**
   * The text of a regular file under a folder; null where it cannot be read, is too large, or where symbolic links lead out
   * of the folder.
   * @param most bytes
   * @param owned whether a file of another user than this one, the administrator or the owner of the folder counts as none
   */
  readWithin(uri: string, root: string, most: number, owned?: boolean): Promise<string | null>;
  /** One form of an address, for comparing those of editors. */
  normal(uri: string): string;
}

/** The most bytes that a layout is read of: a character may take four. */
export const MAX_LAYOUT_BYTES = 4 * MAX_TEXT;

/** Whether an address is that of a layout file. */
export function isLayoutFile(uri: string): boolean {
  return /\.layout\.ya?ml$/.test(uri);
}
