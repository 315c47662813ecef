import { type Connection, type InitializeResult, LSPErrorCodes, ResponseError } from 'vscode-languageserver';
import type { Checked } from '../layout';
import { CODE_ACTION_KINDS, codeActions } from './codeActions';
import { codeLenses } from './codeLens';
import { completion } from './completion';
import { pulledDiagnostics, watchChanges } from './diagnostics';
import { Documents } from './documents';
import { foldingRanges } from './folding';
import { formatting } from './formatting';
import { hover } from './hover';
import { inlayHints } from './inlayHints';
import { documentLinks } from './links';
import type { Commands } from './messages';
import { moduleHighlights, moduleReferences, renameModule, renameRange } from './moduleNames';
import { commandsOf, wantsPush } from './options';
import { selectionRanges } from './selection';
import { DEFAULT_SETTINGS, settingsOf } from './settings';
import { documentSymbols } from './symbols';

/** Wires every feature to a connection and begins to listen. */
export function serve(connection: Connection): void {
  const documents = new Documents();
  let commands: Commands = {};
  let settings = DEFAULT_SETTINGS;
  let refreshesHints = false;
  connection.onInitialize(({ capabilities, initializationOptions }): InitializeResult => {
    // a client that pulls would show pushed findings twice
    const pulls = capabilities.textDocument?.diagnostic !== undefined && !wantsPush(initializationOptions);
    watchChanges(connection, documents, !pulls);
    commands = commandsOf(initializationOptions);
    refreshesHints = capabilities.workspace?.inlayHint?.refreshSupport === true;
    return {
      serverInfo: { name: 'parallelism-layout' },
      capabilities: {
        textDocumentSync: { openClose: true, change: Documents.syncKind },
        completionProvider: { triggerCharacters: [' ', ':', '{', ',', '['] },
        hoverProvider: true,
        codeActionProvider: { codeActionKinds: CODE_ACTION_KINDS },
        codeLensProvider: {},
        inlayHintProvider: true,
        documentSymbolProvider: true,
        documentHighlightProvider: true,
        documentFormattingProvider: true,
        documentLinkProvider: {},
        foldingRangeProvider: true,
        selectionRangeProvider: true,
        referencesProvider: true,
        renameProvider: { prepareProvider: true },
        ...(pulls && { diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics: false } }),
      },
    };
  });

  connection.onDidChangeConfiguration((change) => {
    settings = settingsOf(change.settings);
    if (refreshesHints) {
      void connection.languages.inlayHint.refresh();
    }
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
  connection.onCodeLens(({ textDocument: { uri } }) => codeLenses(uri, checkedOf(uri), commands));
  connection.languages.inlayHint.on(({ textDocument, range }) =>
    inlayHints(checkedOf(textDocument.uri), range, settings.hints),
  );
  connection.onDocumentSymbol(({ textDocument }) => documentSymbols(checkedOf(textDocument.uri)));
  connection.onDocumentLinks(({ textDocument }) => documentLinks(checkedOf(textDocument.uri)));
  connection.onDocumentFormatting(({ textDocument }) => formatting(checkedOf(textDocument.uri)));
  connection.onFoldingRanges(({ textDocument }) => foldingRanges(checkedOf(textDocument.uri)));
  connection.onSelectionRanges(({ textDocument, positions }) =>
    selectionRanges(checkedOf(textDocument.uri), positions),
  );
  connection.onDocumentHighlight(({ textDocument, position }) => {
    const checked = checkedOf(textDocument.uri);
    return moduleHighlights(checked, checked.lines.offsetAt(position));
  });
  connection.onReferences(({ textDocument: { uri }, position }) => {
    const checked = checkedOf(uri);
    return moduleReferences(uri, checked, checked.lines.offsetAt(position));
  });
  connection.onPrepareRename(({ textDocument, position }) => {
    const checked = checkedOf(textDocument.uri);
    return renameRange(checked, checked.lines.offsetAt(position));
  });
  connection.onRenameRequest(({ textDocument: { uri }, position, newName }) => {
    const checked = checkedOf(uri);
    return renameModule(uri, checked, checked.lines.offsetAt(position), newName);
  });
  documents.listen(connection);
  connection.listen();
}
