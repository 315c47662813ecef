import * as vscode from 'vscode';
import { type BaseLanguageClient, CloseAction, ErrorAction, State } from 'vscode-languageclient';
import { type ServerOptions, SUMMARY, type Summary } from '../server/messages';
import type { Platform } from './platform/platform';
import { ShownDiagnostics } from './shownDiagnostics';

/** How many times a server that dies is started again before a person is asked. */
const MAX_RESTARTS = 3;

/** After this long without a fault earlier ones are forgotten. Milliseconds. */
const FORGET_AFTER = 180_000;

/** The language server and what the editor knows of it. */
export class Server {
  readonly #client: BaseLanguageClient;
  readonly #summaries = new Map<string, Summary>();
  readonly #shown = new ShownDiagnostics();
  readonly #changed = new vscode.EventEmitter<void>();
  #faults: number[] = [];
  /** Fires when a summary arrives or the server starts or ends. */
  readonly onDidChange = this.#changed.event;

  constructor(platform: Platform, dist: vscode.Uri, output: vscode.LogOutputChannel) {
    const canRun = platform.registerJobs !== undefined;
    this.#client = platform.createClient(dist, {
      documentSelector: [{ language: 'parallelism-layout' }],
      outputChannel: output,
      synchronize: { configurationSection: ['parallelismLayout.inlayHints'] },
      middleware: { handleDiagnostics: (uri, found, next) => this.#shown.handle(uri, found, next) },
      initializationOptions: () => serverOptions(canRun),
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => this.#closed(),
      },
    });
    this.#client.onNotification(SUMMARY, (summary: Summary) => {
      this.#summaries.set(summary.uri, summary);
      this.#changed.fire();
    });
    this.#client.onDidChangeState(() => this.#changed.fire());
  }

  get state(): 'starting' | 'running' | 'stopped' {
    const { state } = this.#client;
    return state === State.Running ? 'running' : state === State.Starting ? 'starting' : 'stopped';
  }

  /** The outcome of the last check of a document. */
  summary(document: vscode.TextDocument): Summary | undefined {
    return this.#summaries.get(this.#client.code2ProtocolConverter.asUri(document.uri));
  }

  async start(): Promise<void> {
    await this.#client.start();
  }

  async restart(): Promise<void> {
    this.#faults = [];
    this.#summaries.clear();
    // one that failed to start, or was given up, has nothing to stop
    if (this.#client.needsStop()) {
      await this.#client.stop();
    }
    await this.#client.start();
  }

  async dispose(): Promise<void> {
    this.#changed.dispose();
    this.#shown.dispose();
    await this.#client.dispose();
  }

  /** A server that dies is started again; one that keeps dying is a matter for a person. */
  #closed(): { action: CloseAction; message?: string; handled?: boolean } {
    const now = Date.now();
    this.#faults = [...this.#faults.filter((at) => now - at < FORGET_AFTER), now];
    if (this.#faults.length <= MAX_RESTARTS) {
      return { action: CloseAction.Restart };
    }
    void this.#askToRestart();
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  async #askToRestart(): Promise<void> {
    const restart = vscode.l10n.t('Restart');
    const show = vscode.l10n.t('Show Output');
    const message = vscode.l10n.t('The Parallelism Layout language server keeps ending. Layout files are not checked.');
    const choice = await vscode.window.showErrorMessage(message, restart, show);
    if (choice === restart) {
      await vscode.commands.executeCommand('parallelismLayout.restartServer');
    } else if (choice === show) {
      await vscode.commands.executeCommand('parallelismLayout.showOutput');
    }
  }
}

/** What the server is told when it starts: lenses offer only what can be done in this workspace. */
function serverOptions(canRun: boolean): ServerOptions {
  return {
    diagnostics: 'push',
    commands: {
      showGrid: 'parallelismLayout.showGrid',
      ...(canRun && vscode.workspace.isTrusted && { runSmokeJob: 'parallelismLayout.runSmokeJob' }),
    },
  };
}
