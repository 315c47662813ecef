import { lstatSync, readdirSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { readRegularFile } from '../jobs/regularFile';

/** Which files of a folder are layouts. */
const LAYOUT = /\.layout\.ya?ml$/;

/** Folders that are never searched. */
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/** Deeper folders are a mistake, such as a link to one's own parent. */
const MAX_DEPTH = 64;

/** The largest `.gitignore` that is read. Bytes. */
const MAX_RULES_BYTES = 64 * 1024;

/** The rules of a `.gitignore`, for paths below its folder. */
interface Rules {
  readonly folder: string;
  readonly rules: Ignore;
}

/**
 * The layout files of the command line's arguments. A folder is replaced by every layout file below it, sorted, except those that a
 * `.gitignore` excludes. Links to folders are not followed.
 */
export function* layoutFiles(paths: readonly string[]): Iterable<string> {
  for (const path of paths) {
    if (isFolder(path)) {
      for (const { files } of foldersIn(path, [], 0)) {
        yield* files;
      }
    } else {
      yield path;
    }
  }
}

/** The folders that are searched for the command line's arguments, and those of the files among them. */
export function* layoutFolders(paths: readonly string[]): Iterable<string> {
  for (const path of paths) {
    if (isFolder(path)) {
      for (const { folder } of foldersIn(path, [], 0)) {
        yield folder;
      }
    } else {
      yield dirname(path);
    }
  }
}

/** A folder and the layouts that lie in it, not below it. */
interface Folder {
  readonly folder: string;
  readonly files: readonly string[];
}

function* foldersIn(folder: string, above: readonly Rules[], depth: number): Iterable<Folder> {
  const rules = [...above, ...rulesOf(folder)];
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  const files = entries.filter((entry) => !entry.isDirectory() && LAYOUT.test(entry.name));
  yield {
    folder,
    files: files.map(({ name }) => join(folder, name)).filter((path) => !isIgnored(path, '', rules)),
  };
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < MAX_DEPTH && !SKIPPED.has(entry.name) && !isIgnored(path, '/', rules)) {
      yield* foldersIn(path, rules, depth + 1);
    }
  }
}

function rulesOf(folder: string): Rules[] {
  try {
    return [
      { folder, rules: ignore().add(readRegularFile(join(folder, '.gitignore'), MAX_RULES_BYTES).toString('utf8')) },
    ];
  } catch {
    return [];
  }
}

/** Whether the nearest rules that speak of a path pass it over; `end` is a slash behind a folder. */
function isIgnored(path: string, end: '' | '/', rules: readonly Rules[]): boolean {
  for (const { folder, rules: own } of [...rules].reverse()) {
    const { ignored, unignored } = own.test(relative(folder, path).split(sep).join('/') + end);
    if (ignored || unignored) {
      return ignored;
    }
  }
  return false;
}

function isFolder(path: string): boolean {
  try {
    return path !== '-' && lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}
