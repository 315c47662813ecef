import {
  CodeActionKind,
  type Connection,
  type InitializeParams,
  LSPErrorCodes,
  ResponseError,
} from 'vscode-languageserver';
import { type Checked, type Plan, planLayouts, type RuleLevels } from '../layout';
import { commandsOf, pulls, wantsSummaries, wantsWorkspace } from './clientOptions';
import { DEFAULT_SETTINGS, settingsOf } from './clientSettings';
import { Documents } from './documents';
import { codeActions, isWanted } from './features/codeActions';
import { codeLenses } from './features/codeLens';
import { completion } from './features/completion';
import { type MoreDiagnostics, pulledDiagnostics, watchChanges } from './features/diagnostics';
import { documentLinks } from './features/documentLinks';
import { documentSymbols } from './features/documentSymbols';
import { foldingRanges } from './features/folding';
import { formatting } from './features/formatting';
import { hover } from './features/hover';
import { inlayHints } from './features/inlayHints';
import { LaunchCheck } from './features/launchCheck';
import { LaunchDrift } from './features/launchDrift';
import { indentNewLine } from './features/onTypeFormatting';
import { moduleHighlights, moduleReferences, renameModule, renameRange } from './features/rename';
import { selectionRanges } from './features/selectionRanges';
import { semanticTokens } from './features/semanticTokens';
import { SharedDiagnostics } from './features/sharedDiagnostics';
import { type Files, isLayoutFile, Workspace } from './features/workspaceDiagnostics';
import { LaunchFiles } from './launchFiles';
import { PLAN, type PlanRequest, VIEW_TEXT } from './messages';

/** Layouts of one plan: each is checked, which takes time. */
const MAX_PLANNED = 100;

/**
 * Wires every feature to a connection.
 * @param params what the client said when it started the server
 * @param files the files that are not open; left out where the platform has none to give
 */
export function serveFeatures(connection: Connection, params: InitializeParams, files?: Files): void {
  const { capabilities, initializationOptions } = params;
  const documents = new Documents();
  const commands = commandsOf(initializationOptions);
  const refreshesHints = capabilities.workspace?.inlayHint?.refreshSupport === true;
  const refreshesDiagnostics = capabilities.workspace?.diagnostics?.refreshSupport === true;
  const snippets = capabilities.textDocument?.completion?.completionItem?.snippetSupport === true;
  // a client that pulls would show pushed diagnostics twice
  const pushes = !pulls(params);
  let settings = DEFAULT_SETTINGS;
  let workspace: Workspace | undefined;
  const launchFiles = files && new LaunchFiles(connection, documents, files, params);
  const refreshesLenses = capabilities.workspace?.codeLens?.refreshSupport === true;
  const refresh = () => {
    sendAgain();
    refreshPulled();
  };
  const shared = new SharedDiagnostics(connection);
  const drift = launchFiles && new LaunchDrift(connection, documents, launchFiles, shared, refreshesLenses, refresh);
  const launchCheck = launchFiles && new LaunchCheck(connection, documents, launchFiles, shared, capabilities);
  const more: MoreDiagnostics = drift ?? { version: 0, diagnostics: () => [], publish: () => {} };
  const sent = { diagnostics: pushes, summaries: wantsSummaries(initializationOptions) };
  const sendAgain = watchChanges(connection, documents, sent, more);
  const refreshPulled = () => {
    if (!pushes && refreshesDiagnostics) {
      connection.languages.diagnostics.refresh();
    }
  };
  if (launchFiles) {
    documents.setLaunchFiles((uri) => launchFiles.has(uri));
  }
  if (files && wantsWorkspace(initializationOptions)) {
    workspace = new Workspace(
      connection,
      documents,
      files,
      pushes,
      (uri, checked) => drift?.closed(uri, checked) ?? null,
    );
    workspace.start(params);
  } else if (pushes) {
    documents.open.onDidClose(({ document }) => {
      if (documents.isLayout(document)) {
        void connection.sendDiagnostics({ uri: document.uri, diagnostics: [] });
      }
    });
  }
  connection.onDidChangeWatchedFiles(({ changes }) => {
    for (const { uri, type } of changes) {
      launchFiles?.changedOnDisk(uri);
      void workspace?.otherChanged(uri);
      if (isLayoutFile(uri)) {
        workspace?.changedOnDisk(uri, type);
      }
    }
    refreshPulled();
  });

  connection.onDidChangeConfiguration((change) => {
    const before = settings;
    settings = settingsOf(change.settings);
    if (!sameLevels(before.levels, settings.levels)) {
      documents.setLevels(settings.levels);
      sendAgain();
      launchCheck?.recheck();
      void workspace?.recheck();
      refreshPulled();
    }
    launchCheck?.turn(settings.checksLaunchFiles);
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
  connection.languages.diagnostics.on(({ textDocument, previousResultId }) =>
    pulledDiagnostics(documents, textDocument.uri, more, previousResultId),
  );
  connection.languages.diagnostics.onWorkspace(async ({ previousResultIds }, token) => {
    const previous = new Map(previousResultIds.map(({ uri, value }) => [uri, value]));
    return { items: (await workspace?.report(previous, token)) ?? [] };
  });
  connection.onCompletion(({ textDocument, position }) => completion(checkedOf(textDocument.uri), position, snippets));
  connection.onHover(({ textDocument, position }) => {
    const checked = checkedOf(textDocument.uri);
    return hover(checked, checked.lines.offsetAt(position));
  });
  connection.onCodeAction(({ textDocument: { uri }, range, context }) => {
    const isLaunchFile = launchFiles?.has(uri) === true && !documents.checked(uri);
    return [
      ...(isLaunchFile ? [] : codeActions(uri, checkedOf(uri), range, context.only)),
      ...(isWanted(CodeActionKind.QuickFix, context.only) ? (drift?.actions(uri, range) ?? []) : []),
    ];
  });
  connection.onCodeLens(async ({ textDocument: { uri } }) => {
    const checked = checkedOf(uri);
    const { compareLaunchFile = '' } = commands;
    return [...codeLenses(uri, checked, commands), ...((await drift?.lenses(uri, checked, compareLaunchFile)) ?? [])];
  });
  connection.languages.inlayHint.on(({ textDocument, range }) =>
    inlayHints(checkedOf(textDocument.uri), range, settings.hints),
  );
  connection.onDocumentSymbol(({ textDocument }) => documentSymbols(checkedOf(textDocument.uri)));
  connection.onDocumentLinks(({ textDocument }) => documentLinks(checkedOf(textDocument.uri)));
  connection.onDocumentFormatting(({ textDocument }) => formatting(checkedOf(textDocument.uri)));
  connection.onDocumentOnTypeFormatting(({ textDocument, position }) =>
    indentNewLine(checkedOf(textDocument.uri), position),
  );
  connection.languages.semanticTokens.on(({ textDocument }) => semanticTokens(checkedOf(textDocument.uri)));
  connection.languages.semanticTokens.onRange(({ textDocument, range }) =>
    semanticTokens(checkedOf(textDocument.uri), range),
  );
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
  connection.onRequest<Plan, void>(PLAN, ({ uri, most }: PlanRequest) =>
    planLayouts(checkedOf(uri).text, Math.min(most, MAX_PLANNED)),
  );
  connection.onRequest(VIEW_TEXT, ({ uri }: { uri: string }) => documents.open.get(uri)?.getText() ?? null);
  documents.listen(connection);
}

function sameLevels(one: RuleLevels, other: RuleLevels): boolean {
  return one.size === other.size && [...one].every(([code, level]) => other.get(code) === level);
}
