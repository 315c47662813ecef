import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import {
  CancellationTokenSource,
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import type {
  CodeAction,
  Diagnostic,
  Hover,
  InitializeResult,
  Range,
  TextDocumentPositionParams,
  TextEdit,
} from 'vscode-languageserver-protocol';
import { applyEdits, LineIndex } from '../../layout';
import { NODE } from '../harness/programs';

const CURSOR = '|';
const SERVER = resolve('dist/server.js');

interface Published {
  readonly uri: string;
  readonly version?: number;
  readonly diagnostics: Diagnostic[];
}

/** A text after edits of the protocol. */
export function applied(lines: LineIndex, edits: readonly TextEdit[] = []): string {
  const spans = edits.map(({ range, newText }) => ({
    span: { start: lines.offsetAt(range.start), end: lines.offsetAt(range.end) },
    newText,
  }));
  return applyEdits(lines.text, spans);
}

/** The built server, or another one, over standard input and output, as an editor would run it. */
export class ServerProcess {
  readonly #published: Published[] = [];
  readonly #waiting = new Set<() => void>();
  #version = 1;
  #opened = 0;
  #initialized: InitializeResult = { capabilities: {} };
  readonly process: ChildProcess;
  readonly connection: MessageConnection;

  /** Starts the process; `initialize` must follow. */
  constructor(script = SERVER, nodeFlags: readonly string[] = []) {
    const child = spawn(NODE, [...nodeFlags, script, '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.process = child;
    this.connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    this.connection.listen();
    this.connection.onNotification('textDocument/publishDiagnostics', (published: Published) => {
      this.#published.push(published);
      for (const wake of this.#waiting) {
        wake();
      }
    });
  }

  static async start(
    capabilities: object = {},
    initializationOptions: object = {},
    folders: readonly string[] = [],
    script = SERVER,
    nodeFlags: readonly string[] = [],
  ): Promise<ServerProcess> {
    const server = new ServerProcess(script, nodeFlags);
    await server.initialize(capabilities, initializationOptions, folders);
    return server;
  }

  /** What the server said that it can. */
  get initialized(): InitializeResult {
    return this.#initialized;
  }

  async initialize(
    capabilities: object = {},
    initializationOptions: object = {},
    folders: readonly string[] = [],
  ): Promise<void> {
    const ended = new Promise<never>((_, reject) => {
      this.process.once('exit', (code) => reject(new Error(`the server ended with ${code} before it was initialized`)));
    });
    // a server ends at the end of its test too
    ended.catch(() => {});
    const request = this.connection.sendRequest<InitializeResult>('initialize', {
      processId: process.pid,
      rootUri: null,
      workspaceFolders: folders.map((uri) => ({ uri, name: uri })),
      capabilities,
      initializationOptions,
    });
    this.#initialized = await Promise.race([request, ended]);
    await this.notify('initialized', {});
  }

  notify(method: string, params: object): Promise<void> {
    return this.connection.sendNotification(method, params);
  }

  open(uri: string, text: string, languageId = 'parallelism-layout'): Promise<void> {
    return this.notify('textDocument/didOpen', { textDocument: { uri, languageId, version: this.#version, text } });
  }

  close(uri: string): Promise<void> {
    return this.notify('textDocument/didClose', { textDocument: { uri } });
  }

  /** Says that a file was created (1), changed (2) or deleted (3) on the disk. */
  changedOnDisk(uri: string, type = 2): Promise<void> {
    return this.notify('workspace/didChangeWatchedFiles', { changes: [{ uri, type }] });
  }

  /** Sends the settings of the extension. */
  configure(settings: object): Promise<void> {
    return this.notify('workspace/didChangeConfiguration', { settings: { parallelismLayout: settings } });
  }

  /** The Markdown of a hover; empty where there is none. */
  async hoverText(at: TextDocumentPositionParams): Promise<string> {
    const contents = (await this.request<Hover | null>('textDocument/hover', at))?.contents;
    return contents && typeof contents === 'object' && 'value' in contents ? contents.value : '';
  }

  codeActions(uri: string, range: Range | undefined, only?: readonly string[]): Promise<CodeAction[]> {
    const context = { diagnostics: [], ...(only && { only }) };
    return this.request('textDocument/codeAction', { textDocument: { uri }, range, context });
  }

  /** Opens a text of its own in which `|` marks the cursor. */
  async openMarked(marked: string, cursor = CURSOR) {
    const offset = marked.indexOf(cursor);
    const text = offset < 0 ? marked : marked.slice(0, offset) + marked.slice(offset + cursor.length);
    this.#opened++;
    const uri = `file:///test/${this.#opened}.layout.yaml`;
    await this.open(uri, text);
    const lines = new LineIndex(text);
    return { uri, text, lines, at: { textDocument: { uri }, position: lines.positionAt(Math.max(0, offset)) } };
  }

  /** Sends one change and gives its version. */
  async change(uri: string, change: object): Promise<number> {
    this.#version++;
    const textDocument = { uri, version: this.#version };
    await this.notify('textDocument/didChange', { textDocument, contentChanges: [change] });
    return this.#version;
  }

  /** The findings published for a version of a document, or for a later one. */
  async diagnostics(uri: string, version = 1): Promise<Diagnostic[]> {
    for (;;) {
      const found = this.#published.findLast((one) => one.uri === uri && (one.version ?? 0) >= version);
      if (found) {
        return found.diagnostics;
      }
      await this.#more();
    }
  }

  /** Waits until anything is published. */
  #more(): Promise<void> {
    return new Promise<void>((wake) => {
      const once = () => {
        this.#waiting.delete(once);
        wake();
      };
      this.#waiting.add(once);
    });
  }

  /** The addresses of all that was published, in its order. */
  publishedUris(): string[] {
    return this.#published.map(({ uri }) => uri);
  }

  /** Lets go of what was published so far. */
  forgetPublished(): void {
    this.#published.length = 0;
  }

  /** The findings that will be published next for a document. */
  async nextDiagnostics(uri: string): Promise<Diagnostic[]> {
    const seen = this.#published.length;
    for (;;) {
      const found = this.#published.slice(seen).find((one) => one.uri === uri);
      if (found) {
        return found.diagnostics;
      }
      await this.#more();
    }
  }

  /** A request that can be cancelled. */
  cancellable<T>(method: string, params: object): { answer: Promise<T>; cancel: () => void } {
    const source = new CancellationTokenSource();
    return { answer: this.connection.sendRequest<T>(method, params, source.token), cancel: () => source.cancel() };
  }

  request<T>(method: string, params: object): Promise<T> {
    return this.connection.sendRequest<T>(method, params);
  }

  /** Asks the server to end and gives its exit code. */
  async stop(): Promise<number | null> {
    const ended = new Promise<number | null>((done) => {
      this.process.once('exit', done);
    });
    await this.connection.sendRequest('shutdown');
    await this.connection.sendNotification('exit');
    const code = await ended;
    this.connection.dispose();
    return code;
  }
}
