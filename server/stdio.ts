#!/usr/bin/env node
// the promises of `fs` are loaded when they are first asked for, not when the server starts
import * as fs from 'node:fs';
import { join } from 'node:path';
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { URI } from 'vscode-uri';
import { MAX_TEXT } from '../layout';
import type { Files } from './features/workspaceDiagnostics';
import { serve } from './server';

/** Folders that hold no layouts of the author's own. */
const SKIPPED = /^(?:\..*|node_modules|__pycache__)$/;

/** The most entries of folders that are looked at: a workspace may be a whole file system. */
const MAX_ENTRIES = 50_000;

/** How many bytes a character may take. */
const MAX_BYTES = 4 * MAX_TEXT;

const disk: Files = {
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
        } else if (entry.isFile() && /\.layout\.ya?ml$/.test(entry.name)) {
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
      (found) => found.isFile() && found.size <= MAX_BYTES,
      () => false,
    );
    return isSuitable ? fs.promises.readFile(fsPath, 'utf8').catch(() => null) : null;
  },
  normal: (uri) => URI.parse(uri).toString(),
};

// Speaks over standard input and output unless the client names another transport (`--node-ipc`, `--socket=PORT`).
if (!process.argv.some((argument) => /^--(stdio|node-ipc|socket=|pipe=)/.test(argument))) {
  process.argv.push('--stdio');
}
serve(createConnection(ProposedFeatures.all), disk);
