import {
  type CancellationToken,
  type Connection,
  type Diagnostic,
  DiagnosticSeverity,
  DidChangeWatchedFilesNotification,
  FileChangeType,
  type InitializeParams,
  LSPErrorCodes,
  ResponseError,
  type WorkspaceDocumentDiagnosticReport,
  type WorkspaceFolder,
} from 'vscode-languageserver';
import { type Checked, check, terminalLine } from '../../layout';
import type { Documents } from '../documents';
import type { Files } from '../files';
import { diagnosticsOf, SOURCE } from './diagnostics';

/** Which files are layout files. */
const PATTERN = '**/*.layout.{yaml,yml}';

/**
 * The most characters that texts and diagnostics of all closed files have together. A file beyond it is still checked, and shows
 * one diagnostic that counts the others, so that one file with many never hides that another has any.
 */
const MAX_WORKSPACE = 16 * 1024 * 1024;

/** What other files say of a layout that is not open. */
export interface Outside {
  readonly diagnostics: readonly Diagnostic[];
  /** The files that decide it, in the form in which addresses are compared. */
  readonly dependencies: readonly string[];
}

/** How many layouts that are not open are compared with their launch files. */
const MAX_COMPARED = 200;

/** The diagnostics of a file as it was last read. */
interface Known {
  /** Null where there is no room to keep it: the file is then checked at each read. */
  readonly text: string | null;
  readonly id: string;
  readonly items: readonly Diagnostic[];
  /** The files beside it that decide its diagnostics. */
  readonly dependencies: readonly string[];
  /** Characters that are held. */
  readonly size: number;
}

/**
 * The layout files of the workspace that are not open: checked when the server starts and when they change on the disk, so
 * that the list of problems is complete. For an open document the editor's text counts, not the disk's.
 */
export class Workspace {
  readonly #known = new Map<string, Known>();
  readonly #folders = new Set<string>();
  /** Layouts of which a file beside them has changed. */
  readonly #stale = new Set<string>();
  #reads = 0;
  #held = 0;

  /**
   * @param publish whether diagnostics are sent as they arise, or only when asked for
   * @param outside what other files say of a layout; null where none do
   */
  constructor(
    readonly connection: Connection,
    readonly documents: Documents,
    readonly files: Files,
    readonly publish: boolean,
    readonly outside: (uri: string, checked: Checked) => Promise<Outside> | null,
  ) {}

  /** Begins to watch, once the client is ready. */
  start({ capabilities, workspaceFolders }: InitializeParams): void {
    if (capabilities.workspace?.didChangeWatchedFiles?.dynamicRegistration) {
      const watchers = [{ globPattern: PATTERN }];
      void this.connection.client.register(DidChangeWatchedFilesNotification.type, { watchers });
    }
    // the disk may say something else than the document that was closed
    this.documents.open.onDidClose(({ document }) => {
      if (this.documents.isLayout(document)) {
        void this.#closed(document.uri);
      }
    });
    void this.changeFolders(workspaceFolders ?? [], []);
  }

  /** Checks a layout again that changed on the disk. */
  changedOnDisk(written: string, type: FileChangeType): void {
    const uri = this.files.normal(written);
    void (type === FileChangeType.Deleted ? this.#forget(uri) : this.#look(uri));
  }

  /** Checks the layouts again that a file beside them decides, which changed on the disk. */
  async otherChanged(uri: string): Promise<void> {
    const normal = this.files.normal(uri);
    const concerned = [...this.#known].filter(([, { dependencies }]) => dependencies.includes(normal));
    for (const [layout] of concerned) {
      this.#stale.add(layout);
      await (this.publish ? this.#look(layout) : undefined);
    }
  }

  /** Answers a client that asks for the diagnostics of the whole workspace. */
  async report(
    previous: ReadonlyMap<string, string>,
    token: CancellationToken,
  ): Promise<WorkspaceDocumentDiagnosticReport[]> {
    const reports: WorkspaceDocumentDiagnosticReport[] = [];
    for (const folder of this.#folders) {
      for await (const uri of this.files.list(folder)) {
        if (token.isCancellationRequested) {
          throw new ResponseError(LSPErrorCodes.RequestCancelled, 'cancelled');
        }
        const known = this.#isOpen(uri) ? null : await this.#read(uri);
        if (known) {
          const isSame = previous.get(uri) === known.id;
          reports.push({
            uri,
            version: null,
            resultId: known.id,
            ...(isSame ? { kind: 'unchanged' } : { kind: 'full', items: [...known.items] }),
          });
        }
      }
    }
    return reports;
  }

  /** Checks every file again, because the severities of rules have changed. */
  async recheck(): Promise<void> {
    const known = [...this.#known.keys()];
    for (const uri of known) {
      this.#drop(uri);
    }
    if (this.publish) {
      await this.#lookAll([...this.#folders]);
      for (const uri of known.filter((one) => !this.#isOpen(one) && this.#known.get(one)?.items.length === 0)) {
        void this.connection.sendDiagnostics({ uri, diagnostics: [] });
      }
    }
  }

  async changeFolders(added: readonly WorkspaceFolder[], removed: readonly WorkspaceFolder[]): Promise<void> {
    for (const { uri: folder } of removed) {
      this.#folders.delete(folder);
      const start = `${this.files.normal(folder)}/`;
      for (const uri of [...this.#known.keys()].filter((one) => one.startsWith(start))) {
        this.#forget(uri);
      }
    }
    for (const { uri } of added) {
      this.#folders.add(uri);
    }
    if (this.publish) {
      await this.#lookAll(added.map(({ uri }) => uri));
    }
  }

  async #lookAll(folders: readonly string[]): Promise<void> {
    for (const folder of folders) {
      for await (const uri of this.files.list(folder)) {
        await this.#look(uri);
      }
    }
  }

  /** Checks a file that is not open, and publishes what is new. */
  async #look(uri: string): Promise<void> {
    const before = this.#known.get(uri);
    const known = await this.#read(uri);
    if (!known) {
      // the client may have reported a change after the deletion
      this.#forget(uri);
      return;
    }
    // it may have been opened meanwhile
    if (this.#isOpen(uri)) {
      return;
    }
    if (this.publish && known !== before && (known.items.length > 0 || before)) {
      void this.connection.sendDiagnostics({ uri, diagnostics: [...known.items] });
    }
  }

  async #closed(uri: string): Promise<void> {
    this.#drop(this.files.normal(uri));
    const isHere = [...this.#folders].some((folder) =>
      this.files.normal(uri).startsWith(`${this.files.normal(folder)}/`),
    );
    const known = isHere ? await this.#read(uri) : null;
    if (this.publish && !this.#isOpen(uri)) {
      void this.connection.sendDiagnostics({ uri, diagnostics: [...(known?.items ?? [])] });
    }
  }

  #forget(uri: string): void {
    if (this.#drop(uri) && this.publish && !this.#isOpen(uri)) {
      void this.connection.sendDiagnostics({ uri, diagnostics: [] });
    }
  }

  #isOpen(uri: string): boolean {
    const { files, documents } = this;
    const wanted = files.normal(uri);
    return documents.open.keys().some((one) => files.normal(one) === wanted);
  }

  async #read(uri: string): Promise<Known | null> {
    const text = await this.files.read(uri);
    const before = this.#known.get(uri);
    const isStale = this.#stale.delete(uri);
    if (text === null || (before?.text === text && !isStale)) {
      return text === null ? null : (before ?? null);
    }
    this.#reads++;
    const id = `disk ${this.#reads}`;
    const { diagnostics: items, dependencies } = await this.#diagnose(uri, text);
    this.#drop(uri);
    const size = text.length + sizeOf(items);
    const known: Known =
      this.#held + size <= MAX_WORKSPACE
        ? { text, id, items, dependencies, size }
        : { text: null, id, items: summary(items), dependencies, size: 0 };
    this.#held += known.size;
    this.#known.set(uri, known);
    return known;
  }

  /** What is said of a file. One that the server fails on says so itself: it hides the diagnostics of no other. */
  async #diagnose(uri: string, text: string): Promise<Outside> {
    try {
      await this.documents.configurations.ready(uri);
      const checked = check(text, this.documents.configurations.levels(uri));
      const { diagnostics, dependencies } = await this.#outside(uri, checked);
      return { diagnostics: [...diagnosticsOf(uri, checked), ...diagnostics], dependencies };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { diagnostics: [failure(reason)], dependencies: [] };
    }
  }

  async #outside(uri: string, checked: Checked): Promise<Outside> {
    const compared = [...this.#known.values()].filter(({ dependencies }) => dependencies.length > 0).length;
    const found = compared < MAX_COMPARED ? this.outside(uri, checked) : null;
    return (await found) ?? { diagnostics: [], dependencies: [] };
  }

  #drop(uri: string): boolean {
    this.#held -= this.#known.get(uri)?.size ?? 0;
    return this.#known.delete(uri);
  }
}

/** About how many characters diagnostics take, as they are sent. */
function sizeOf(items: readonly Diagnostic[]): number {
  return items.reduce((sum, item) => {
    const related = (item.relatedInformation ?? []).reduce((more, { message }) => more + message.length + OVERHEAD, 0);
    return sum + textOf(item).length + OVERHEAD + related;
  }, 0);
}

/** Characters of a diagnostic beside its message: codes, addresses and places. */
const OVERHEAD = 300;

/** One diagnostic for all of a file, the gravest first. */
function summary(items: readonly Diagnostic[]): Diagnostic[] {
  const [first, ...others] = [...items].sort((a, b) => (a.severity ?? 1) - (b.severity ?? 1));
  if (!first) {
    return [];
  }
  const more =
    others.length === 0 ? '' : ` Open this file to see ${others.length} more: the workspace has too many to list.`;
  return [{ ...first, message: `${textOf(first).slice(0, MAX_SUMMARY)}${more}`, relatedInformation: [] }];
}

/** How many characters of a message are kept where there is no room. */
const MAX_SUMMARY = 200;

function textOf({ message }: Diagnostic): string {
  return typeof message === 'string' ? message : message.value;
}

/** What a file shows that the server fails on. */
function failure(reason: string): Diagnostic {
  const start = { line: 0, character: 0 };
  const message = `This file cannot be checked: ${terminalLine(reason).slice(0, MAX_SUMMARY)}`;
  return { range: { start, end: start }, severity: DiagnosticSeverity.Error, source: SOURCE, message };
}
