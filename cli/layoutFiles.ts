import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileErrorText, readRegularFile } from '../jobs';
import { GitIgnore, PatternWork } from './gitignore';
import { fail } from './output';

/** Which files of a folder are layouts. */
export const LAYOUT = /\.layout\.ya?ml$/;

/** Folders that are not searched. */
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/** Folders below this depth are not searched. */
const MAX_DEPTH = 64;

/** The largest `.gitignore` that is read. Bytes. */
const MAX_RULES_BYTES = 64 * 1024;

/** The rules of a `.gitignore`, for paths below its folder. */
interface Rules {
  readonly folder: string;
  readonly rules: GitIgnore;
}

/**
 * The layout files of the command line's arguments. A folder is replaced by every layout file below it, sorted, except those that a
 * `.gitignore` excludes. Links to folders are not followed. A folder that cannot be read is reported and sets the exit status.
 */
export function* layoutFiles(paths: readonly string[]): Iterable<string> {
  for (const { files } of foldersOf(paths)) {
    yield* files;
  }
}

/** The folders that `layoutFiles` searches, and the folders of the files among the arguments. */
export function* layoutFolders(paths: readonly string[]): Iterable<string> {
  for (const { folder } of foldersOf(paths)) {
    yield folder;
  }
}

function* foldersOf(paths: readonly string[]): Iterable<Folder> {
  for (const path of paths) {
    yield* isFolder(path) ? foldersIn(path, [], 0, new PatternWork()) : [{ folder: dirname(path), files: [path] }];
  }
}

/** A folder and the layout files directly in it. */
interface Folder {
  readonly folder: string;
  readonly files: readonly string[];
}

function* foldersIn(folder: string, above: readonly Rules[], depth: number, work: PatternWork): Iterable<Folder> {
  const rules = [...above, ...rulesOf(folder, work)];
  const entries = entriesOf(folder);
  const files = entries.filter((entry) => !entry.isDirectory() && LAYOUT.test(entry.name));
  yield {
    folder,
    files: files.map(({ name }) => join(folder, name)).filter((path) => !isIgnored(path, false, rules)),
  };
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < MAX_DEPTH && !SKIPPED.has(entry.name) && !isIgnored(path, true, rules)) {
      yield* foldersIn(path, rules, depth + 1, work);
    }
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    fail(`${folder}: ${fileErrorText(error)}`);
    return [];
  }
}

function rulesOf(folder: string, work: PatternWork): Rules[] {
  try {
    const text = readRegularFile(join(folder, '.gitignore'), MAX_RULES_BYTES).toString('utf8');
    return [{ folder, rules: new GitIgnore(text, work) }];
  } catch {
    return [];
  }
}

/** Whether the nearest matching rules exclude a path. */
function isIgnored(path: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  for (const { folder, rules: own } of rules.toReversed()) {
    const verdict = own.verdict(relative(folder, path).split(sep).join('/'), isFolder);
    if (verdict !== null) {
      return verdict;
    }
  }
  return false;
}

/** Whether an argument is a folder; a link to one is not. */
export function isFolder(path: string): boolean {
  try {
    return path !== '-' && lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}
