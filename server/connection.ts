import {
  type Connection,
  type InitializeParams,
  type InitializeResult,
  LSPErrorCodes,
  ResponseError,
  type ServerCapabilities,
  TextDocumentSyncKind,
} from 'vscode-languageserver';
import {
  check,
  type Plan,
  planSteps,
  type Recovery,
  type Resizing,
  recoveries,
  resizeSteps,
  wishWithout,
} from '../layout';
import { commandsOf, DEFAULT_SETTINGS, pulls, settingsOf, wantsSummaries, wantsWorkspace } from './clientOptions';
import { Configurations } from './configurations';
import { Documents } from './documents';
import { FEATURES } from './features';
import { type MoreDiagnostics, pulledDiagnostics, saidOf, watchChanges } from './features/diagnostics';
import { LaunchCheck } from './features/launchCheck';
import { LaunchDrift } from './features/launchDrift';
import { SharedDiagnostics } from './features/sharedDiagnostics';
import { Workspace } from './features/workspaceDiagnostics';
import { type Files, isLayoutFile } from './files';
import { LaunchFiles } from './launchFiles';
import {
  PLAN,
  type PlanRequest,
  RECOVERIES,
  RESIZE,
  type RecoveryRequest,
  SAID,
  TRADEOFFS,
  type TradeoffsRequest,
  VIEW_TEXT,
  type WeighedText,
} from './messages';
import { plannedInSlices } from './slices';
import { Weigher } from './weigher';

/** The most layouts of one plan: each is checked, which takes time. */
const MAX_PLANNED = 100;

/** How many layouts are listed after a failure. */
const RESIZED = 5;

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

/**
 * What the server can do for a client.
 * @param hasFiles whether the server reaches files that are not open
 */
function capabilitiesFor(params: InitializeParams, hasFiles: boolean): ServerCapabilities {
  const workspaceDiagnostics = hasFiles && wantsWorkspace(params.initializationOptions);
  return {
    ...Object.assign({}, ...FEATURES.map(({ capabilities }) => capabilities)),
    textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental },
    workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
    ...(pulls(params) && { diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics } }),
  };
}

/** Connects every feature to a client. @param params what the client said when it started the server */
function serveFeatures(connection: Connection, params: InitializeParams, files?: Files): void {
  const { capabilities, initializationOptions } = params;
  const { workspace: clientWorkspace } = capabilities;
  // a client that pulls would show pushed diagnostics twice
  const pushes = !pulls(params);
  let settings = DEFAULT_SETTINGS;

  const shared = new SharedDiagnostics(connection);
  const configurations = new Configurations(connection, shared, files);
  const documents = new Documents(configurations);
  configurations.start(params);
  const launchFiles = files && new LaunchFiles(connection, documents, files, params);
  const drift =
    launchFiles &&
    new LaunchDrift(
      connection,
      documents,
      launchFiles,
      shared,
      clientWorkspace?.codeLens?.refreshSupport === true,
      () => refresh(),
    );
  const launchCheck = launchFiles && new LaunchCheck(connection, documents, launchFiles, shared, capabilities);
  documents.setLaunchFiles(({ uri, languageId }) => (launchFiles?.has(uri) || launchCheck?.takes(languageId)) === true);

  const more: MoreDiagnostics = drift ?? { version: 0, diagnostics: () => [], said: () => [], publish: () => {} };
  const sent = { diagnostics: pushes, summaries: wantsSummaries(initializationOptions) };
  const sendAgain = watchChanges(connection, documents, sent, more);
  const refreshPulled = () => {
    if (!pushes && clientWorkspace?.diagnostics?.refreshSupport === true) {
      connection.languages.diagnostics.refresh();
    }
  };
  const refresh = () => {
    sendAgain();
    refreshPulled();
  };

  const workspace =
    files && wantsWorkspace(initializationOptions)
      ? new Workspace(connection, documents, files, pushes, (uri, checked) => drift?.closed(uri, checked) ?? null)
      : undefined;
  if (workspace) {
    workspace.start(params);
  } else if (pushes) {
    documents.open.onDidClose(({ document }) => {
      if (documents.isLayout(document)) {
        void connection.sendDiagnostics({ uri: document.uri, diagnostics: [] });
      }
    });
  }
  if (clientWorkspace?.workspaceFolders) {
    connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      configurations.changeFolders(added, removed);
      launchFiles?.changeFolders(added, removed);
      void workspace?.changeFolders(added, removed);
    });
  }
  connection.onDidChangeWatchedFiles(({ changes }) => {
    for (const { uri, type } of changes) {
      configurations.changedOnDisk(uri);
      launchFiles?.changedOnDisk(uri);
      void workspace?.otherChanged(uri);
      if (isLayoutFile(uri)) {
        workspace?.changedOnDisk(uri, type);
      }
    }
    refreshPulled();
  });
  configurations.onDidChange(() => {
    refresh();
    launchCheck?.recheck();
    void workspace?.recheck();
  });
  connection.onDidChangeConfiguration((change) => {
    settings = settingsOf(change.settings);
    configurations.setSettings(settings.levels);
    launchCheck?.turn(settings.checksLaunchFiles);
    if (clientWorkspace?.inlayHint?.refreshSupport === true) {
      void connection.languages.inlayHint.refresh();
    }
  });

  const checked = (uri: string) => {
    const found = documents.checked(uri);
    if (!found) {
      throw new ResponseError(LSPErrorCodes.RequestFailed, `${uri} is not open`);
    }
    return found;
  };
  const context = {
    connection,
    documents,
    commands: commandsOf(initializationOptions),
    snippets: capabilities.textDocument?.completion?.completionItem?.snippetSupport === true,
    launch: drift,
    settings: () => settings,
    checked,
  };
  for (const feature of FEATURES) {
    feature.register(context);
  }
  connection.languages.diagnostics.on(({ textDocument, previousResultId }) =>
    pulledDiagnostics(documents, textDocument.uri, more, previousResultId),
  );
  connection.languages.diagnostics.onWorkspace(async ({ previousResultIds }, token) => {
    const previous = new Map(previousResultIds.map(({ uri, value }) => [uri, value]));
    return { items: (await workspace?.report(previous, token)) ?? [] };
  });
  connection.onRequest<Plan | null, void>(PLAN, ({ uri, most }: PlanRequest, token) =>
    plannedInSlices(planSteps(checked(uri).text, { wanted: Math.min(most, MAX_PLANNED) }), token),
  );
  connection.onRequest<readonly Recovery[], void>(RECOVERIES, ({ uri, ranks }: RecoveryRequest) => {
    const { facts, resolved } = checked(uri);
    return facts && resolved ? recoveries(facts, resolved, ranks) : [];
  });
  connection.onRequest<Resizing | null, void>(RESIZE, ({ uri, ranks }: RecoveryRequest, token) => {
    const { facts, resolved } = checked(uri);
    const wish = resolved && wishWithout(resolved, ranks, RESIZED);
    return facts && resolved && wish
      ? plannedInSlices(resizeSteps(facts, resolved, wish), token)
      : { ok: false, reason: resolved ? 'no node is left' : 'the layout has errors' };
  });
  const weigher = new Weigher();
  connection.onRequest<WeighedText | null, void>(TRADEOFFS, ({ uri, text, known }: TradeoffsRequest, token) => {
    const last = documents.checked(uri);
    return weigher.tradeoffs(last?.text === text ? last : check(text), token, known);
  });
  connection.onRequest(SAID, ({ uri }: { uri: string }) => saidOf(documents, uri, more));
  connection.onRequest(VIEW_TEXT, ({ uri }: { uri: string }) => documents.open.get(uri)?.getText() ?? null);
  documents.open.listen(connection);
}
