import type { Connection, InitializeResult } from 'vscode-languageserver';
import { capabilitiesFor } from './capabilities';
import type { Files } from './workspace';

/**
 * Begins to listen to a client. It is told what the server can do before any feature is loaded.
 * @param files the files that are not open; left out where the platform has none to give
 */
export function serve(connection: Connection, files?: Files): void {
  connection.onInitialize((params): InitializeResult => {
    connection.onInitialized(async () => {
      // a bundle imports within the same turn of the event loop, so the features are there before the next message is read
      const { serveFeatures } = await import('./features');
      serveFeatures(connection, params, files);
    });
    return {
      serverInfo: { name: 'parallelism-layout' },
      capabilities: capabilitiesFor(params, files !== undefined),
    };
  });
  connection.listen();
}
