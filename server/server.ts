import {
  CodeActionKind,
  type Connection,
  type InitializeResult,
  LSPErrorCodes,
  ResponseError,
} from 'vscode-languageserver';
import type { Checked } from '../layout';
import { codeActions } from './codeActions';
import { completion } from './completion';
import { pulledDiagnostics, watchChanges } from './diagnostics';
import { Documents } from './documents';
import { hover } from './hover';

/** Wires every feature to a connection and begins to listen. */
export function serve(connection: Connection): void {
  const documents = new Documents();
  connection.onInitialize(({ capabilities, initializationOptions }): InitializeResult => {
    // a client that pulls would show pushed findings twice
    const pulls = capabilities.textDocument?.diagnostic !== undefined && !wantsPush(initializationOptions);
    watchChanges(connection, documents, !pulls);
    return {
      serverInfo: { name: 'parallelism-layout' },
      capabilities: {
        textDocumentSync: { openClose: true, change: Documents.syncKind },
        completionProvider: { triggerCharacters: [' ', ':', '{', ',', '['] },
        hoverProvider: true,
        codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
        ...(pulls && { diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics: false } }),
      },
    };
  });

  /** The check of the document that a request speaks of. */
  const checkedOf = (uri: string): Checked => {
    const checked = documents.checked(uri);
    if (!checked) {
      throw new ResponseError(LSPErrorCodes.RequestFailed, `${uri} is not open`);
    }
    return checked;
  };
  connection.languages.diagnostics.on(({ textDocument }) => pulledDiagnostics(documents, textDocument.uri));
  connection.onCompletion(({ textDocument, position }) => completion(checkedOf(textDocument.uri), position));
  connection.onHover(({ textDocument, position }) => {
    const checked = checkedOf(textDocument.uri);
    return hover(checked, checked.lines.offsetAt(position));
  });
  connection.onCodeAction(({ textDocument, range, context }) =>
    codeActions(textDocument.uri, checkedOf(textDocument.uri), range, context.only),
  );
  documents.listen(connection);
  connection.listen();
}

/** Whether a client that could pull asks for findings to be pushed, which reach it sooner. */
function wantsPush(options: unknown): boolean {
  return typeof options === 'object' && options !== null && 'diagnostics' in options && options.diagnostics === 'push';
}
