import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import {
  CancellationTokenSource,
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import type { Diagnostic, InitializeResult } from 'vscode-languageserver-protocol';
import { LineIndex } from '../../layout';
import { NODE } from '../harness/programs';

const CURSOR = '|';
const SERVER = resolve('dist/server.js');

interface Published {
  readonly uri: string;
  readonly version?: number;
  readonly diagnostics: Diagnostic[];
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
    await this.connection.sendNotification('initialized', {});
  }

  open(uri: string, text: string): Promise<void> {
    const textDocument = { uri, languageId: 'parallelism-layout', version: this.#version, text };
    return this.connection.sendNotification('textDocument/didOpen', { textDocument });
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
    await this.connection.sendNotification('textDocument/didChange', {
      textDocument: { uri, version: this.#version },
      contentChanges: [change],
    });
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
