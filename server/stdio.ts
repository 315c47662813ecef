#!/usr/bin/env node
// the promises of `fs` are loaded when they are first asked for, not when the server starts
import * as fs from 'node:fs';
import { join, sep } from 'node:path';
import { type Connection, createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { URI } from 'vscode-uri';
import { serve } from './connection';
import { type Files, isLayoutFile, MAX_LAYOUT_BYTES } from './files';
import { type FileRequest, READ_FILE } from './messages';

/** Folders that hold no layouts of the author's own. */
const SKIPPED = /^(?:\..*|node_modules|__pycache__)$/;

/** The most entries of folders that are looked at: a workspace may be a whole file system. */
const MAX_ENTRIES = 50_000;

/** The files of this machine; those of other file systems are the client's, where it knows the request for them. */
const filesOf = (connection: Connection): Files => ({
  async *list(folder) {
    const { scheme, fsPath } = URI.parse(folder);
    const folders = scheme === 'file' ? [fsPath] : [];
    let entries = 0;
    for (const path of folders) {
      // a folder that may not be read holds nothing for us
      const open = await fs.promises.opendir(path).catch(() => null);
      for await (const entry of open ?? []) {
        if (++entries > MAX_ENTRIES) {
          return;
        }
        if (entry.isDirectory() && !SKIPPED.test(entry.name)) {
          folders.push(join(path, entry.name));
        } else if (entry.isFile() && isLayoutFile(entry.name)) {
          yield URI.file(join(path, entry.name)).toString();
        }
      }
    }
  },
  async read(uri) {
    const { scheme, fsPath } = URI.parse(uri);
    if (scheme !== 'file') {
      return null;
    }
    // a folder may hold a device or a named pipe of this name, which would be read forever
    const isSuitable = await fs.promises.stat(fsPath).then(
      (found) => found.isFile() && found.size <= MAX_LAYOUT_BYTES,
      () => false,
    );
    return isSuitable ? fs.promises.readFile(fsPath, 'utf8').catch(() => null) : null;
  },
  async readWithin(uri, root, most, owned = false) {
    const [file, folder] = [URI.parse(uri), URI.parse(root)];
    if (file.scheme === 'file') {
      return readInside(file.fsPath, folder.fsPath, most, owned).catch(() => null);
    }
    const request: FileRequest = { uri, root, most };
    return connection.sendRequest<string | null>(READ_FILE, request).catch(() => null);
  },
  normal: (uri) => URI.parse(uri).toString(),
});

/** The text of a regular file, wherever links lead inside a folder; null where they lead out of it. */
async function readInside(path: string, root: string, most: number, owned: boolean): Promise<string | null> {
  const [real, folder] = await Promise.all([fs.promises.realpath(path), fs.promises.realpath(root)]);
  if (!real.startsWith(folder.endsWith(sep) ? folder : folder + sep)) {
    return null;
  }
  // opened without waiting, as the other end of a named pipe may never come
  const file = await fs.promises.open(real, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const found = await file.stat();
    const owners = [process.getuid?.(), 0, (await fs.promises.stat(folder)).uid];
    const link = await fs.promises.lstat(path);
    const isOwn = !owned || process.getuid === undefined || [found, link].every(({ uid }) => owners.includes(uid));
    return found.isFile() && found.size <= most && isOwn ? await file.readFile('utf8') : null;
  } finally {
    await file.close();
  }
}

// Speaks over standard input and output unless the client names another transport (`--node-ipc`, `--socket=PORT`).
if (!process.argv.some((argument) => /^--(stdio|node-ipc|socket=|pipe=)/.test(argument))) {
  process.argv.push('--stdio');
}
const connection = createConnection(ProposedFeatures.all);
serve(connection, filesOf(connection));
