import {
  BulkRegistration,
  type ClientCapabilities,
  CodeActionKind,
  CodeActionRequest,
  type Connection,
  DidChangeTextDocumentNotification,
  DidChangeWatchedFilesNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  type Disposable,
  type DocumentSelector,
  Emitter,
  type InitializeParams,
  RAL,
  TextDocumentSyncKind,
  type WorkspaceFolder,
} from 'vscode-languageserver';
import { URI, Utils } from 'vscode-uri';
import type { LaunchReading } from '../layout/launch';
import type { Documents } from './documents';
import { type Files, isLayoutFile } from './files';

/** How many launch files are held. */
const MAX_HELD = 32;

/** How many files the client is asked to report changes of. */
const MAX_WATCHED = 1000;

/** After this long without a change an open launch file is read again. Milliseconds. */
const READ_DELAY = 250;

/** The engine that reads launch files; it is loaded with the first of them. */
const loadEngine = () => import('../layout/launch');
export type LaunchEngine = Awaited<ReturnType<typeof loadEngine>>;

/** What is known of a launch file. */
export type LaunchState =
  | { readonly kind: 'pending' }
  /** Missing, too large, no text, or outside what the workspace reaches. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'read'; readonly reading: LaunchReading; readonly engine: LaunchEngine };

/** A launch file that a layout names. */
export interface LaunchAddress {
  readonly uri: string;
  /** The folder beyond which nothing is read. */
  readonly root: string;
}

interface Held extends LaunchAddress {
  state: LaunchState;
  /** The files that decide what it says. */
  dependencies: readonly string[];
  /** Resolves when no read is under way. */
  settled: Promise<void>;
  reads: number;
}

/**
 * The launch files that layouts name: read once, and again when they change on the disk or in the editor. Answers use what was
 * read last, so that no request waits for a file.
 */
export class LaunchFiles {
  readonly #held = new Map<string, Held>();
  readonly #folders = new Map<string, URI>();
  readonly #timers = new Map<string, Disposable>();
  readonly #changed = new Emitter<string>();
  readonly #capabilities: ClientCapabilities;
  /**
   * All files that the client was asked to report. It is never asked to stop: a document that it sent would then stay open here
   * for ever.
   */
  readonly #watched = new Set<string>();
  #version = 0;

  /** Fires with the address of a launch file that was read with another outcome than before. */
  readonly onDidChange = this.#changed.event;

  constructor(
    readonly connection: Connection,
    readonly documents: Documents,
    readonly files: Files,
    { capabilities, workspaceFolders }: InitializeParams,
  ) {
    this.#capabilities = capabilities;
    this.changeFolders(workspaceFolders ?? [], []);
    documents.open.onDidChangeContent(({ document: { uri } }) => this.#readSoon(uri));
    documents.open.onDidClose(({ document: { uri } }) => this.changedOnDisk(uri));
  }

  changeFolders(added: readonly WorkspaceFolder[], removed: readonly WorkspaceFolder[]): void {
    for (const { uri } of removed) {
      this.#folders.delete(uri);
    }
    for (const { uri } of added) {
      this.#folders.set(uri, URI.parse(uri));
    }
  }

  /** Counts the changes of launch files: what was derived at the same number still holds. */
  get version(): number {
    return this.#version;
  }

  /** Whether an address is that of a launch file, or of a file that one names. */
  has(uri: string): boolean {
    return this.#watched.has(this.files.normal(uri));
  }

  /**
   * The address of a launch file by the name that a layout gives it; null where it lies outside what the workspace reaches:
   * the layout's workspace folder or, where it is in none, its own folder.
   */
  addressOf(layout: string, name: string): LaunchAddress | null {
    const written = URI.parse(layout);
    const folder = this.#folderOf(written);
    // a layout that is nowhere saved yet stands where it will be saved
    const own = written.scheme === 'untitled' ? folder?.with({ path: written.path }) : written;
    const root = folder ?? (own && Utils.dirname(own));
    const uri = own && root && Utils.resolvePath(Utils.dirname(own), name);
    return uri && root && contains(root, uri) && !isLayoutFile(uri.path)
      ? { uri: uri.toString(), root: root.toString() }
      : null;
  }

  /** The address of a launch file that is open itself: it reaches its workspace folder or, in none, its own folder. */
  ownAddress(uri: string): LaunchAddress {
    const own = URI.parse(uri);
    return { uri, root: (this.#folderOf(own) ?? Utils.dirname(own)).toString() };
  }

  #folderOf(uri: URI): URI | undefined {
    return [...this.#folders.values()].find((folder) => contains(folder, uri));
  }

  /** Reads a launch file anew, without holding it. */
  read(address: LaunchAddress): Promise<LaunchState> {
    return this.#reading(address).catch((): LaunchState => ({ kind: 'unreadable' }));
  }

  /** Asks the client to report changes of the files that decide what a launch file says, and lists them. */
  follow({ uri }: LaunchAddress, state: LaunchState): readonly string[] {
    const dependencies = this.#dependencies(uri, state);
    this.#watch(dependencies);
    return dependencies;
  }

  /** What is known of a launch file; the first question begins to read it. */
  state(address: LaunchAddress): LaunchState {
    return this.#hold(address)?.state ?? { kind: 'unreadable' };
  }

  /** Resolves when a launch file has been read. */
  async settled(address: LaunchAddress): Promise<void> {
    await this.#hold(address)?.settled;
  }

  /** Reads launch files again that a change of a file on the disk concerns. */
  changedOnDisk(uri: string): void {
    const normal = this.files.normal(uri);
    for (const held of this.#held.values()) {
      if (held.dependencies.includes(normal)) {
        this.#read(held);
      }
    }
  }

  /** Forgets launch files that no layout names any more. */
  keep(addresses: readonly LaunchAddress[]): void {
    const named = new Set(addresses.map(keyOf));
    for (const key of [...this.#held.keys()].filter((one) => !named.has(one))) {
      this.#held.delete(key);
    }
  }

  #hold(address: LaunchAddress): Held | undefined {
    const key = keyOf(address);
    const known = this.#held.get(key);
    if (known || this.#held.size >= MAX_HELD) {
      return known;
    }
    const dependencies = [this.files.normal(address.uri)];
    const held: Held = { ...address, state: { kind: 'pending' }, dependencies, settled: Promise.resolve(), reads: 0 };
    this.#held.set(key, held);
    this.#watch(dependencies);
    this.#read(held);
    return held;
  }

  /** Begins to read a launch file; of several reads the last one counts. */
  #read(held: Held): void {
    const read = ++held.reads;
    held.settled = this.read(held).then((state) => {
      if (read === held.reads && this.#held.get(keyOf(held)) === held && !isSame(held.state, state)) {
        held.state = state;
        held.dependencies = this.#dependencies(held.uri, state);
        this.#version++;
        this.#watch(held.dependencies);
        this.#changed.fire(held.uri);
      }
    });
  }

  async #reading({ uri, root }: LaunchAddress): Promise<LaunchState> {
    const engine = await loadEngine();
    const launch = URI.parse(uri);
    const reading = await engine.readLaunch(
      launch.path,
      (path, most) => this.#text(launch.with({ path }).toString(), root, most),
      engine.HELD_LIMITS,
    );
    return reading ? { kind: 'read', reading, engine } : { kind: 'unreadable' };
  }

  /** The text of a file as an editor has it, or else as the disk has it. */
  async #text(uri: string, root: string, most: number): Promise<string | null> {
    if (!contains(URI.parse(root), URI.parse(uri))) {
      return null;
    }
    const normal = this.files.normal(uri);
    const open = this.documents.open
      .all()
      .find((document) => this.files.normal(document.uri) === normal)
      ?.getText();
    if (open !== undefined) {
      return open.length <= most ? open : null;
    }
    const text = await this.files.readWithin(uri, root, most);
    return text?.includes('\0') ? null : text;
  }

  #readSoon(uri: string): void {
    if (!this.has(uri)) {
      return;
    }
    this.#timers.get(uri)?.dispose();
    const read = () => {
      this.#timers.delete(uri);
      this.changedOnDisk(uri);
    };
    this.#timers.set(uri, RAL().timer.setTimeout(read, READ_DELAY));
  }

  /** The addresses of the files that decide what a launch file says. */
  #dependencies(uri: string, state: LaunchState): readonly string[] {
    const named = state.kind === 'read' ? [...state.reading.files.keys()] : [];
    const launch = URI.parse(uri);
    return [uri, ...named.map((path) => launch.with({ path }).toString())].map((one) => this.files.normal(one));
  }

  /** Asks the client to report changes of files, on the disk and in its editors. */
  #watch(uris: readonly string[]): void {
    const fresh = uris.filter((uri) => !this.#watched.has(uri)).slice(0, MAX_WATCHED - this.#watched.size);
    for (const uri of fresh) {
      this.#watched.add(uri);
    }
    const registrations = registrationsFor(fresh, this.#capabilities);
    if (registrations) {
      // a client that refuses reports nothing, and its layouts are compared when they are opened
      this.connection.client.register(registrations).catch(() => {});
    }
  }
}

function keyOf({ uri, root }: LaunchAddress): string {
  return `${root}\n${uri}`;
}

/** Whether a folder holds an address, by its parts: `..` has been resolved. An unsaved file counts by its path. */
function contains(folder: URI, { scheme, authority, path }: URI): boolean {
  const isSameStore = (scheme === folder.scheme && authority === folder.authority) || scheme === 'untitled';
  return isSameStore && path.startsWith(folder.path.endsWith('/') ? folder.path : `${folder.path}/`);
}

/** Whether two reads found the same files with the same texts. */
function isSame(one: LaunchState, other: LaunchState): boolean {
  if (one.kind !== 'read' || other.kind !== 'read') {
    return one.kind === other.kind;
  }
  const files = other.reading.files;
  return (
    one.reading.files.size === files.size && [...one.reading.files].every(([path, text]) => files.get(path) === text)
  );
}

/** What a client is asked to report of files, as far as it can be asked; null where it cannot. */
function registrationsFor(
  uris: readonly string[],
  { workspace, textDocument }: ClientCapabilities,
): BulkRegistration | null {
  if (uris.length === 0) {
    return null;
  }
  const registrations = BulkRegistration.create();
  const { dynamicRegistration: watches, relativePatternSupport } = workspace?.didChangeWatchedFiles ?? {};
  const opens = textDocument?.synchronization?.dynamicRegistration === true;
  if (watches) {
    const watchers = uris.map((uri) => {
      const { path } = URI.parse(uri);
      const name = literalGlob(path.slice(path.lastIndexOf('/') + 1));
      const baseUri = Utils.dirname(URI.parse(uri)).toString();
      return { globPattern: relativePatternSupport ? { baseUri, pattern: name } : `**/${name}` };
    });
    registrations.add(DidChangeWatchedFilesNotification.type, { watchers });
  }
  if (opens) {
    const documentSelector = uris.map((uri) => {
      const { scheme, path } = URI.parse(uri);
      return { scheme, pattern: `**/${literalGlob(path.replace(/^\/(?:[A-Za-z]:\/)?/, ''))}` };
    });
    addDocuments(registrations, documentSelector);
    if (textDocument?.codeAction?.dynamicRegistration) {
      registrations.add(CodeActionRequest.type, { documentSelector, codeActionKinds: [CodeActionKind.QuickFix] });
    }
  }
  return watches || opens ? registrations : null;
}

/** Registers for documents that a client sends when they open, change and close. */
export function addDocuments(registrations: BulkRegistration, documentSelector: DocumentSelector): void {
  registrations.add(DidOpenTextDocumentNotification.type, { documentSelector });
  // whole texts: a client sends a change once for each registration that a document matches
  const syncKind = TextDocumentSyncKind.Full;
  registrations.add(DidChangeTextDocumentNotification.type, { documentSelector, syncKind });
  registrations.add(DidCloseTextDocumentNotification.type, { documentSelector });
}

/** A glob that matches a path, and few others. */
function literalGlob(path: string): string {
  return path.replace(/[*?[\]{}!]/g, '?');
}
