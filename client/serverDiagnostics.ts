import * as vscode from 'vscode';
import { type Diagnostic, isOfText, type Recovery, type Resizing } from '../layout';
import type { Alternatives, Plan, Tradeoffs } from '../layout/cost';
import {
  PLAN,
  type PlanRequest,
  RECOVERIES,
  RESIZE,
  type RecoveryRequest,
  SAID,
  TRADEOFFS,
  type TradeoffsRequest,
  type WeighedText,
} from '../server/messages';
import type { Server } from './languageClient';

/** The message where a command needs a checked layout and the language server does not run. */
export const NOT_CHECKED = (): string =>
  vscode.l10n.t('The layout has not been checked: the language server does not run. Restart it first.');

/** Layouts that a plan lists. */
const PLANNED = 10;

/** What the language server says of documents, also while it is loaded, started and restarted: the extension judges nothing. */
export class ServerDiagnostics implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  /** What the server told last, which it does not tell again. */
  #alternatives: { readonly key: string; readonly alternatives: Alternatives } | null = null;
  /** Once it is loaded. */
  #server: Pick<Server, 'ask'> | undefined;

  /** Fires when the server has checked a document, starts or ends. */
  readonly onDidChange = this.#changed.event;

  /** @param loading the server, once it is loaded; it fails where it cannot be */
  constructor(readonly loading: Promise<Pick<Server, 'ask' | 'started' | 'onDidChange'>>) {
    const connect = async () => {
      const server = await loading;
      this.#server = server;
      server.onDidChange(() => this.#changed.fire());
      this.#changed.fire();
    };
    connect().catch(() => {});
  }

  dispose(): void {
    this.#changed.dispose();
  }

  /** What is said of a document, as the list of problems has it; null where no server runs to say it. */
  async now(document: vscode.TextDocument): Promise<readonly Diagnostic[] | null> {
    return (await this.#server?.ask<{ uri: string }, readonly Diagnostic[]>(SAID, document, {})) ?? null;
  }

  /** The ways to continue the job of a document after ranks have failed; none where no server runs. */
  async recoveries(document: vscode.TextDocument, ranks: readonly number[]): Promise<readonly Recovery[]> {
    return (await this.#server?.ask<RecoveryRequest, readonly Recovery[]>(RECOVERIES, document, { ranks })) ?? [];
  }

  /** The layouts of a job on what is left after ranks have failed; null where it was cancelled or no server runs. */
  async resizing(
    document: vscode.TextDocument,
    ranks: readonly number[],
    token: vscode.CancellationToken,
  ): Promise<Resizing | null> {
    return (await this.#server?.ask<RecoveryRequest, Resizing>(RESIZE, document, { ranks }, token)) ?? null;
  }

  /** What the present text of a document is weighed against, once the server is there; null where it was cancelled or does not run. */
  async tradeoffs(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<Tradeoffs | null> {
    const server = await this.#started();
    const last = this.#alternatives;
    const request = { text: document.getText(), known: last?.key ?? null };
    const answer = token.isCancellationRequested
      ? null
      : await server?.ask<TradeoffsRequest, WeighedText>(TRADEOFFS, document, request, token);
    const alternatives = answer?.alternatives ?? last?.alternatives;
    if (!answer || !alternatives) {
      return null;
    }
    this.#alternatives = { key: answer.key, alternatives };
    return { neighbours: answer.neighbours, alternatives };
  }

  /** The layouts that fit the GPUs of a document, the quickest first; null where no server runs. */
  async plan(document: vscode.TextDocument): Promise<Plan | null> {
    const server = await this.#started();
    return (await server?.ask<PlanRequest, Plan>(PLAN, document, { most: PLANNED })) ?? null;
  }

  /** What is said of the text of a document alone, by a server that is waited for while it starts: whether it can run. */
  async ofText(document: vscode.TextDocument): Promise<readonly Diagnostic[] | null> {
    await this.#started();
    return (await this.now(document))?.filter(isOfText) ?? null;
  }

  /** The server, once it has started or failed to; undefined where it cannot be loaded. */
  async #started(): Promise<Pick<Server, 'ask'> | undefined> {
    const server = await this.loading.catch(() => undefined);
    await server?.started();
    return server;
  }
}
