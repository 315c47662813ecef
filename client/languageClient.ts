import * as vscode from 'vscode';
import {
  type BaseLanguageClient,
  CancellationToken,
  CloseAction,
  ErrorAction,
  type LanguageClientOptions,
  State,
} from 'vscode-languageclient';
import { type ServerOptions, SUMMARY, type Summary } from '../server/messages';
import { reach } from './milestones';
import { showError } from './notifications';
import { ShownDiagnostics } from './shownDiagnostics';
import { traceChannel } from './traceChannel';

/** Makes a client of the language server, which is not started yet. */
export type CreateClient = (options: LanguageClientOptions) => BaseLanguageClient;

/** How many crashes in a row restart the server; the next one asks a person. */
const MAX_RESTARTS = 3;

/** A server that has not answered by then counts as crashed. Milliseconds. */
const START_LIMIT = 20_000;

/** Crashes before that are forgotten. Milliseconds. */
const FORGET_AFTER = 180_000;

/** The settings that are sent to the server. */
const SETTINGS = ['inlayHints', 'rules', 'checkLaunchFiles'].map((name) => `parallelismLayout.${name}`);

/** The language server: starts it, restarts it after a crash, and keeps the summaries of its checks. */
export class Server {
  readonly #shown = new ShownDiagnostics();
  readonly #trace = traceChannel();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #summaries = new Map<string, Summary>();
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

  /** What the server answers about a document; null where it does not run, ends meanwhile, or the request was cancelled. */
  async ask<Request extends { readonly uri: string }, Answer>(
    method: string,
    document: vscode.TextDocument,
    request: Omit<Request, 'uri'>,
    // left out, it would arrive as a second parameter
    token: vscode.CancellationToken = CancellationToken.None,
  ): Promise<Answer | null> {
    if (this.state !== 'running') {
      return null;
    }
    const uri = this.#client.code2ProtocolConverter.asUri(document.uri);
    return this.#client.sendRequest<Answer | null>(method, { uri, ...request }, token).catch(() => null);
  }

  /** Starts the server; requests wait until it runs. */
  start(): Promise<void> {
    this.#started = this.#tryToStart();
    return this.#started;
  }

  async #tryToStart(): Promise<void> {
    const client = this.#client;
    const started = client.start();
    // the client does not notice a crash right after the process starts
    let limit: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, fail) => {
      limit = setTimeout(() => fail(new Error(`no answer in ${START_LIMIT / 1000} s`)), START_LIMIT);
    });
    try {
      await Promise.race([started, late]);
    } catch (error) {
      // one that answers late would be a second server
      void started.then(
        () => client.stop(),
        () => {},
      );
      this.output.error(`The language server did not start: ${String(error)}`);
      await this.#handleFault(client);
    } finally {
      clearTimeout(limit);
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
