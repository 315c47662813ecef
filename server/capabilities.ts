import {
  CodeActionKind,
  type InitializeParams,
  type SemanticTokensLegend,
  type ServerCapabilities,
  TextDocumentSyncKind,
} from 'vscode-languageserver';
import { pulls, wantsWorkspace } from './clientOptions';

/** The action that applies all safe fixes. */
export const FIX_ALL = `${CodeActionKind.SourceFixAll}.parallelismLayout`;

/** What the numbers of the semantic tokens mean. */
export const TOKENS_LEGEND = {
  tokenTypes: ['property', 'class', 'number', 'string', 'keyword', 'enumMember', 'comment'],
  tokenModifiers: ['declaration', 'readonly'],
} as const satisfies SemanticTokensLegend;

/**
 * What the server can do for a client.
 * @param hasFiles whether files that are not open can be reached
 */
export function capabilitiesFor(params: InitializeParams, hasFiles: boolean): ServerCapabilities {
  const workspaceDiagnostics = hasFiles && wantsWorkspace(params.initializationOptions);
  return {
    textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental },
    completionProvider: { triggerCharacters: [' ', ':', '{', ',', '['] },
    hoverProvider: true,
    codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix, CodeActionKind.RefactorRewrite, FIX_ALL] },
    codeLensProvider: {},
    inlayHintProvider: true,
    documentSymbolProvider: true,
    documentHighlightProvider: true,
    documentFormattingProvider: true,
    // lines are indented behind a key
    documentOnTypeFormattingProvider: { firstTriggerCharacter: '\n' },
    documentLinkProvider: {},
    foldingRangeProvider: true,
    selectionRangeProvider: true,
    referencesProvider: true,
    renameProvider: { prepareProvider: true },
    semanticTokensProvider: { legend: TOKENS_LEGEND, full: true, range: true },
    workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
    ...(pulls(params) && { diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics } }),
  };
}
