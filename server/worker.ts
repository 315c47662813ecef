/// <reference lib="webworker" />
import { BrowserMessageReader, BrowserMessageWriter, createConnection } from 'vscode-languageserver/browser';
import { URI } from 'vscode-uri';
import type { Files } from './features/workspaceDiagnostics';
import { LIST_LAYOUTS, READ_LAYOUT } from './messages';
import { serve } from './server';

const connection = createConnection(new BrowserMessageReader(self), new BrowserMessageWriter(self));

/** A worker reaches no files, so it asks the extension for them. */
const files: Files = {
  async *list(folder) {
    yield* await connection.sendRequest<string[]>(LIST_LAYOUTS, { folder });
  },
  read: (uri) => connection.sendRequest<string | null>(READ_LAYOUT, { uri }),
  normal: (uri) => URI.parse(uri).toString(),
};

// Speaks with the extension that started this worker, in the web.
serve(connection, files);
