import type { Connection, InitializeResult } from 'vscode-languageserver';
import { capabilitiesFor, serveFeatures } from './connection';
import type { Files } from './files';

/**
 * Begins to listen to a client; once it knows what the server can do, the features are there.
 * @param files the files that are not open; left out where the platform has none to give
 */
export function serve(connection: Connection, files?: Files): void {
  connection.onInitialize((params): InitializeResult => {
    connection.onInitialized(() => serveFeatures(connection, params, files));
    return {
      serverInfo: { name: 'parallelism-layout' },
      capabilities: capabilitiesFor(params, files !== undefined),
    };
  });
  connection.listen();
}
