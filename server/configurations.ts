import {
  type Connection,
  type Diagnostic,
  DiagnosticSeverity,
  DidChangeWatchedFilesNotification,
  Emitter,
  type InitializeParams,
  type WorkspaceFolder,
} from 'vscode-languageserver';
import { URI, Utils } from 'vscode-uri';
import {
  CONFIGURATION,
  LineIndex,
  levelsInForce,
  MAX_CONFIGURATION,
  NO_LEVELS,
  type RuleLevels,
  readConfiguration,
} from '../layout';
import type { SharedDiagnostics } from './features/sharedDiagnostics';
import type { Files } from './files';

/** How many folders are remembered. */
const MAX_FOLDERS = 10_000;

/**
 * How the rules weigh for each file: the settings of the editor over the nearest configuration in the file's folder or above. A
 * configuration is read once, and again when it changes on the disk.
 */
export class Configurations {
  readonly #folders = new Map<string, RuleLevels>();
  readonly #reads = new Map<string, Promise<RuleLevels>>();
  readonly #changed = new Emitter<void>();
  /** The folders of the workspace. */
  readonly #roots = new Set<string>();
  #settings: RuleLevels = NO_LEVELS;
  /** Counts what makes earlier reads obsolete. */
  #version = 0;

  /** Fires when the severities of any file may have changed. */
  readonly onDidChange = this.#changed.event;

  /** @param files left out where the platform has no files: the settings alone count */
  constructor(
    readonly connection: Connection,
    readonly shared: SharedDiagnostics,
    readonly files?: Files,
  ) {}

  /** Begins to watch, once the client is ready. */
  start({ capabilities, workspaceFolders }: InitializeParams): void {
    this.changeFolders(workspaceFolders ?? [], []);
    if (this.files && capabilities.workspace?.didChangeWatchedFiles?.dynamicRegistration) {
      const watchers = [{ globPattern: `**/${CONFIGURATION}` }];
      void this.connection.client.register(DidChangeWatchedFilesNotification.type, { watchers });
    }
  }

  changeFolders(added: readonly WorkspaceFolder[], removed: readonly WorkspaceFolder[]): void {
    for (const { uri } of removed) {
      this.#roots.delete(URI.parse(uri).toString());
    }
    for (const { uri } of added) {
      this.#roots.add(URI.parse(uri).toString());
    }
  }

  /** The severities in force for a file, as far as they have been read. */
  levels(uri: string): RuleLevels {
    return this.#folders.get(folderOf(uri)) ?? this.#settings;
  }

  /** Whether the severities of a file are known. */
  isKnown(uri: string): boolean {
    return !this.files || !isStored(uri) || this.#folders.has(folderOf(uri));
  }

  /** Resolves when the severities of a file are known. */
  async ready(uri: string): Promise<void> {
    while (!this.isKnown(uri)) {
      await this.#read(URI.parse(folderOf(uri)));
    }
  }

  setSettings(settings: RuleLevels): void {
    if (!isSame(this.#settings, settings)) {
      this.#settings = settings;
      this.#forget();
    }
  }

  /** Reads configurations again where one changed on the disk. */
  changedOnDisk(uri: string): void {
    if (uri.endsWith(`/${CONFIGURATION}`)) {
      this.#forget();
    }
  }

  #forget(): void {
    this.#version++;
    this.#folders.clear();
    this.#reads.clear();
    this.shared.setAll('configuration');
    this.#changed.fire();
  }

  #read(folder: URI): Promise<RuleLevels> {
    const key = folder.toString();
    const known = this.#reads.get(key);
    if (known) {
      return known;
    }
    const version = this.#version;
    const read = this.#levelsIn(folder, version).then((found) => {
      if (version === this.#version) {
        if (this.#folders.size >= MAX_FOLDERS) {
          this.#folders.clear();
          this.#reads.clear();
        }
        this.#folders.set(key, found);
      }
      return found;
    });
    this.#reads.set(key, read);
    return read;
  }

  async #levelsIn(folder: URI, version: number): Promise<RuleLevels> {
    const uri = Utils.joinPath(folder, CONFIGURATION).toString();
    // a client that cannot say has no configuration
    const text = await this.files?.readWithin(uri, folder.toString(), MAX_CONFIGURATION, true).catch(() => null);
    if (typeof text === 'string') {
      const { levels, problems } = readConfiguration(text);
      if (problems.length > 0 && version === this.#version) {
        const lines = new LineIndex(text);
        this.shared.set(
          'configuration',
          uri,
          problems.map(
            ({ message, span }): Diagnostic => ({
              range: lines.rangeOf(span),
              severity: DiagnosticSeverity.Error,
              source: 'parallelism-layout',
              message: `${CONFIGURATION}: ${message}`,
            }),
          ),
        );
      }
      return levelsInForce(levels, this.#settings);
    }
    const above = Utils.dirname(folder);
    // other file systems than the disk may be far away, and have nothing of the project above its folder
    const isTop = above.path === folder.path || (folder.scheme !== 'file' && this.#roots.has(folder.toString()));
    return isTop || (await this.#isRepository(folder)) ? this.#settings : this.#read(above);
  }

  /** Whether a folder is the root of a repository, beyond which nothing decides how rules weigh. */
  async #isRepository(folder: URI): Promise<boolean> {
    const names = folder.scheme === 'file' ? ['.git/HEAD', '.git'] : [];
    for (const name of names) {
      const uri = Utils.joinPath(folder, name).toString();
      const text = await this.files?.readWithin(uri, folder.toString(), MAX_CONFIGURATION).catch(() => null);
      if (typeof text === 'string') {
        return true;
      }
    }
    return false;
  }
}

/** Whether a file lies in a folder: one that is nowhere saved yet does not. */
function isStored(uri: string): boolean {
  return URI.parse(uri).path.startsWith('/') && !uri.startsWith('untitled:');
}

function folderOf(uri: string): string {
  return Utils.dirname(URI.parse(uri)).toString();
}

function isSame(one: RuleLevels, other: RuleLevels): boolean {
  return one.size === other.size && [...one].every(([code, level]) => other.get(code) === level);
}
