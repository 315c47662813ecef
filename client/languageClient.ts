import * as vscode from 'vscode';
import { type BaseLanguageClient, CloseAction, ErrorAction, State } from 'vscode-languageclient';
import type { Diagnostic, Recovery, Resizing } from '../layout';
import type { Alternatives, Plan, Tradeoffs } from '../layout/cost';
import {
  PLAN,
  type PlanRequest,
  RECOVERIES,
  RESIZE,
  type RecoveryRequest,
  SAID,
  type ServerOptions,
  SUMMARY,
  type Summary,
  TRADEOFFS,
  type TradeoffsRequest,
  type WeighedText,
} from '../server/messages';
import { reach } from './milestones';
import { showError } from './notifications';
import type { CreateClient } from './platform/platform';
import { ShownDiagnostics } from './shownDiagnostics';
import { TraceChannel } from './traceChannel';

/** How many crashes in a row restart the server; the next one asks a person. */
const MAX_RESTARTS = 3;

/** Layouts that a plan lists. */
const PLANNED = 10;

/** A server that has not answered by then counts as crashed. Milliseconds. */
const START_LIMIT = 20_000;

/** Crashes before that are forgotten. Milliseconds. */
const FORGET_AFTER = 180_000;

/** The settings that are sent to the server. */
const SETTINGS = ['inlayHints', 'rules', 'checkLaunchFiles'].map((name) => `parallelismLayout.${name}`);

/** The language server: starts it, restarts it after a crash, and keeps the summaries of its checks. */
export class Server {
  readonly #shown = new ShownDiagnostics();
  readonly #trace = new TraceChannel();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #summaries = new Map<string, Summary>();
  /** What the server told last, which it does not tell again. */
  #alternatives: { readonly key: string; readonly alternatives: Alternatives } | null = null;
  #client: BaseLanguageClient;
  #started: Promise<void> = Promise.resolve();
  #faults: number[] = [];
  #disposed = false;
  /** Fires when a summary arrives or the server starts or ends. */
  readonly onDidChange = this.#changed.event;

  constructor(
    readonly create: CreateClient,
    readonly output: vscode.LogOutputChannel,
    /** Whether smoke jobs can be run here. */
    readonly canRun: boolean,
  ) {
    this.#client = this.#createClient();
  }

  get state(): 'starting' | 'running' | 'stopped' {
    const { state } = this.#client;
    return state === State.Running ? 'running' : state === State.Starting ? 'starting' : 'stopped';
  }

  /** The outcome of the last check of a document. */
  summary(document: vscode.TextDocument): Summary | undefined {
    return this.#summaries.get(this.#client.code2ProtocolConverter.asUri(document.uri));
  }

  /** Resolves when the server has started, or has failed to. */
  started(): Promise<void> {
    return this.#started;
  }

  /** What is said of a document, as the list of problems has it; null where the server does not run. */
  async said(document: vscode.TextDocument): Promise<readonly Diagnostic[] | null> {
    if (this.state !== 'running') {
      return null;
    }
    const uri = this.#client.code2ProtocolConverter.asUri(document.uri);
    // one that crashes meanwhile says nothing
    return this.#client.sendRequest<readonly Diagnostic[] | null>(SAID, { uri }).catch(() => null);
  }

  /** The ways to continue the job of a document after ranks have failed; none where the server does not run. */
  async recoveries(document: vscode.TextDocument, ranks: readonly number[]): Promise<readonly Recovery[]> {
    if (this.state !== 'running') {
      return [];
    }
    const request: RecoveryRequest = { uri: this.#client.code2ProtocolConverter.asUri(document.uri), ranks };
    return this.#client.sendRequest<readonly Recovery[]>(RECOVERIES, request).catch(() => []);
  }

  /** The layouts of the job on what is left after ranks have failed; null where it was cancelled or no server runs. */
  async resizing(
    document: vscode.TextDocument,
    ranks: readonly number[],
    token: vscode.CancellationToken,
  ): Promise<Resizing | null> {
    if (this.state !== 'running') {
      return null;
    }
    const request: RecoveryRequest = { uri: this.#client.code2ProtocolConverter.asUri(document.uri), ranks };
    return this.#client.sendRequest<Resizing | null>(RESIZE, request, token).catch(() => null);
  }

  /** The layouts that fit the GPUs of a document, the quickest first. */
  async plan(document: vscode.TextDocument): Promise<Plan> {
    await this.#started;
    const request: PlanRequest = { uri: this.#client.code2ProtocolConverter.asUri(document.uri), most: PLANNED };
    return this.#client.sendRequest<Plan>(PLAN, request);
  }

  /** What a document's present text is weighed against; null where it was cancelled or the server does not run. */
  async tradeoffs(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<Tradeoffs | null> {
    await this.#started;
    const uri = this.#client.code2ProtocolConverter.asUri(document.uri);
    const last = this.#alternatives;
    const request: TradeoffsRequest = { uri, text: document.getText(), known: last?.key ?? null };
    const answer = await this.#client.sendRequest<WeighedText | null>(TRADEOFFS, request, token).catch(() => null);
    const alternatives = answer?.alternatives ?? last?.alternatives;
    if (!answer || !alternatives) {
      return null;
    }
    this.#alternatives = { key: answer.key, alternatives };
    return { neighbours: answer.neighbours, alternatives };
  }

  /** Starts the server; requests wait until it runs. */
  start(): Promise<void> {
    this.#started = this.#tryToStart();
    return this.#started;
  }

  async #tryToStart(): Promise<void> {
    const client = this.#client;
    const started = client.start();
    try {
      await withinStartLimit(started);
    } catch (error) {
      // one that answers late would be a second server
      void started.then(
        () => client.stop(),
        () => {},
      );
      this.output.error(`The language server did not start: ${String(error)}`);
      await this.#handleFault(client);
    }
  }

  async restart(): Promise<void> {
    // one that is just starting cannot be stopped yet
    await this.#started;
    this.#faults = [];
    await this.#startAnew();
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    this.#changed.dispose();
    this.#shown.dispose();
    await this.#started;
    if (this.#client.state === State.Running) {
      await this.#client.stop();
    }
    this.#trace.dispose();
  }

  #createClient(): BaseLanguageClient {
    const client: BaseLanguageClient = this.create({
      documentSelector: [{ language: 'parallelism-layout' }],
      outputChannel: this.output,
      traceOutputChannel: this.#trace,
      synchronize: { configurationSection: SETTINGS },
      middleware: {
        handleDiagnostics: (uri, found, next) => this.#shown.handle(uri, found, next),
        provideHover: async (document, position, token, next) => {
          const hover = await next(document, position, token);
          if (hover) {
            reach('sawNumbers');
          }
          return hover;
        },
        provideCompletionItem: (document, position, context, token, next) => {
          reach('sawNumbers');
          return next(document, position, context, token);
        },
      },
      initializationOptions: () => serverOptions(this.canRun),
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => {
          // a crash during the start makes the start fail, which is handled there
          if (client.state === State.Running) {
            setTimeout(() => this.#handleFault(client));
          }
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    });
    client.onNotification(SUMMARY, (summary: Summary) => {
      this.#summaries.set(summary.uri, summary);
      this.#changed.fire();
    });
    client.onDidChangeState(() => this.#changed.fire());
    return client;
  }

  /** Replaces the client: one whose server has crashed cannot start another. */
  async #startAnew(): Promise<void> {
    const old = this.#client;
    this.#client = this.#createClient();
    this.#summaries.clear();
    // one that has died, or never came up, cannot be stopped
    if (old.state === State.Running) {
      await old.stop();
    }
    await this.start();
  }

  /** Restarts a server that crashed; asks a person where it keeps crashing. */
  async #handleFault(client: BaseLanguageClient): Promise<void> {
    if (this.#disposed || client !== this.#client) {
      return;
    }
    const now = Date.now();
    this.#faults = [...this.#faults.filter((at) => now - at < FORGET_AFTER), now];
    if (this.#faults.length <= MAX_RESTARTS) {
      await this.#startAnew();
    } else {
      void this.#askToRestart();
    }
  }

  async #askToRestart(): Promise<void> {
    const restart = vscode.l10n.t('Restart');
    const show = vscode.l10n.t('Show Output');
    const message = vscode.l10n.t(
      'The Parallelism Layout language server keeps crashing. Layout files are not checked.',
    );
    const choice = await showError(message, restart, show);
    if (choice === restart) {
      await vscode.commands.executeCommand('parallelismLayout.restartServer');
    } else if (choice === show) {
      await vscode.commands.executeCommand('parallelismLayout.showOutput');
    }
  }
}

/** Fails where the server does not answer in time: the client does not notice a crash right after the process starts. */
async function withinStartLimit(started: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`no answer in ${START_LIMIT / 1000} s`)), START_LIMIT);
  });
  try {
    await Promise.race([started, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The options of the server: lenses offer only what works in this workspace. */
function serverOptions(canRun: boolean): ServerOptions {
  return {
    diagnostics: 'push',
    summaries: true,
    commands: {
      showGrid: 'parallelismLayout.showGrid',
      compareLaunchFile: 'parallelismLayout.compareLaunchFile',
      newLayout: 'parallelismLayout.newLayout',
      addModel: 'parallelismLayout.addModel',
      ...(canRun && vscode.workspace.isTrusted && { runSmokeJob: 'parallelismLayout.runSmokeJob' }),
    },
  };
}
