import * as vscode from 'vscode';
import { type Diagnostic, isOfText, type Recovery, type Resizing } from '../layout';
import type { Tradeoffs } from '../layout/cost';

/** The message where a command needs a checked layout and the language server does not run. */
export const NOT_CHECKED = (): string =>
  vscode.l10n.t('The layout has not been checked: the language server does not run. Restart it first.');

/** A language server that can be asked. */
interface Answers {
  /** Fires when it has checked a document, starts or ends. */
  readonly onDidChange: vscode.Event<void>;
  /** Resolves when it has started, or has failed to. */
  started(): Promise<void>;
  /** What is said of a document; null where it does not run. */
  said(document: vscode.TextDocument): Promise<readonly Diagnostic[] | null>;
  /** How its job continues after ranks have failed. */
  recoveries(document: vscode.TextDocument, ranks: readonly number[]): Promise<readonly Recovery[]>;
  /** The layouts of its job on what is left after ranks have failed; null where it was cancelled or the server does not run. */
  resizing(
    document: vscode.TextDocument,
    ranks: readonly number[],
    token: vscode.CancellationToken,
  ): Promise<Resizing | null>;
  /** What a document is weighed against; null where it was cancelled or the server does not run. */
  tradeoffs(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<Tradeoffs | null>;
}

/** What the language server says of documents, also while it is loaded, started and restarted: the extension judges nothing. */
export class ServerDiagnostics implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  #server: Answers | undefined;
  #connect: (server: Answers) => void = () => {};
  readonly #connected = new Promise<Answers>((resolve) => {
    this.#connect = resolve;
  });

  /** Fires when the server has checked a document, starts or ends. */
  readonly onDidChange = this.#changed.event;

  /** Takes the server, once it is loaded. */
  connect(server: Answers): void {
    this.#server = server;
    this.#connect(server);
    server.onDidChange(() => this.#changed.fire());
    this.#changed.fire();
  }

  dispose(): void {
    this.#changed.dispose();
  }

  /** What is said of a document, as the list of problems has it; null where no server runs to say it. */
  async now(document: vscode.TextDocument): Promise<readonly Diagnostic[] | null> {
    return (await this.#server?.said(document)) ?? null;
  }

  /** The ways to continue the job of a document after ranks have failed; none where no server runs. */
  async recoveries(document: vscode.TextDocument, ranks: readonly number[]): Promise<readonly Recovery[]> {
    return (await this.#server?.recoveries(document, ranks)) ?? [];
  }

  /** The layouts of a job on what is left after ranks have failed; null where it was cancelled or no server runs. */
  async resizing(
    document: vscode.TextDocument,
    ranks: readonly number[],
    token: vscode.CancellationToken,
  ): Promise<Resizing | null> {
    return (await this.#server?.resizing(document, ranks, token)) ?? null;
  }

  /** What the present text of a document is weighed against, once the server is there; null where it was cancelled. */
  async tradeoffs(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<Tradeoffs | null> {
    const server = await this.#connected;
    return token.isCancellationRequested ? null : server.tradeoffs(document, token);
  }

  /** What is said of the text of a document alone, by a server that is waited for while it starts: whether it can run. */
  async ofText(document: vscode.TextDocument): Promise<readonly Diagnostic[] | null> {
    const server = await this.#connected;
    await server.started();
    return (await this.now(document))?.filter(isOfText) ?? null;
  }
}
