/// <reference lib="webworker" />
import { BrowserMessageReader, BrowserMessageWriter, createConnection } from 'vscode-languageserver/browser';
import { URI } from 'vscode-uri';
import { serve } from './connection';
import { type Files, MAX_LAYOUT_BYTES } from './files';
import { LIST_LAYOUTS, READ_FILE } from './messages';

const connection = createConnection(new BrowserMessageReader(self), new BrowserMessageWriter(self));

/** A worker reaches no files, so it asks the extension for them. */
const files: Files = {
  async *list(folder) {
    yield* await connection.sendRequest<string[]>(LIST_LAYOUTS, { folder });
  },
  read: (uri) => connection.sendRequest<string | null>(READ_FILE, { uri, most: MAX_LAYOUT_BYTES }),
  readWithin: (uri, root, most) => connection.sendRequest<string | null>(READ_FILE, { uri, root, most }),
  normal: (uri) => URI.parse(uri).toString(),
};

// Speaks with the extension that started this worker, in the web.
serve(connection, files);
