import {
  BulkRegistration,
  type ClientCapabilities,
  type Connection,
  type Diagnostic,
  type Disposable,
  RAL,
} from 'vscode-languageserver';
import { LineIndex, type RuleLevels, wordAt } from '../../layout';
import type { LaunchReading } from '../../layout/launch';
import type { Documents } from '../documents';
import { addDocuments, type LaunchEngine, type LaunchFiles } from '../launchFiles';
import { diagnosticOf } from './diagnostics';
import type { SharedDiagnostics } from './sharedDiagnostics';

/** The languages that launch files are written in, as editors name them. */
const LANGUAGES: ReadonlySet<string> = new Set(['shellscript', 'yaml']);

/** After this long without a change a launch file is checked. Milliseconds. */
const CHECK_DELAY = 300;

/** Diagnostics on launch files themselves, while the setting `checkLaunchFiles` is on. */
export class LaunchCheck {
  readonly #timers = new Map<string, Disposable>();
  #isRegistered = false;
  #isOn = false;

  constructor(
    readonly connection: Connection,
    readonly documents: Documents,
    readonly launchFiles: LaunchFiles,
    readonly shared: SharedDiagnostics,
    readonly capabilities: ClientCapabilities,
  ) {
    documents.open.onDidChangeContent(({ document: { uri } }) => this.#checkSoon(uri));
    documents.open.onDidClose(({ document: { uri } }) => this.#clear(uri));
  }

  /** Begins or ends to check launch files; the client is asked to send them. */
  turn(isOn: boolean): void {
    if (isOn === this.#isOn) {
      return;
    }
    this.#isOn = isOn;
    if (isOn) {
      this.#register();
      this.recheck();
    } else {
      this.shared.setAll('check');
    }
  }

  /** Whether the client was asked to send the documents of a language. */
  takes(language: string): boolean {
    return this.#isRegistered && LANGUAGES.has(language);
  }

  /** Checks every open launch file again, because the severities of rules have changed. */
  recheck(): void {
    for (const uri of this.documents.open.keys()) {
      this.#checkSoon(uri);
    }
  }

  /** Asks the client to send launch files, once and for good: a client that stops does not report which of them it closes. */
  #register(): void {
    if (this.#isRegistered || this.capabilities.textDocument?.synchronization?.dynamicRegistration !== true) {
      return;
    }
    this.#isRegistered = true;
    const registrations = BulkRegistration.create();
    addDocuments(
      registrations,
      [...LANGUAGES].map((language) => ({ language })),
    );
    // a client that refuses sends none
    this.connection.client.register(registrations).catch(() => {});
  }

  #checkSoon(uri: string): void {
    const document = this.documents.open.get(uri);
    this.#timers.get(uri)?.dispose();
    if (!this.#isOn || !document || this.documents.isLayout(document)) {
      return;
    }
    const run = () => {
      this.#timers.delete(uri);
      void this.#check(uri);
    };
    this.#timers.set(uri, RAL().timer.setTimeout(run, CHECK_DELAY));
  }

  async #check(uri: string): Promise<void> {
    const version = this.documents.open.get(uri)?.version;
    const address = this.launchFiles.ownAddress(uri);
    const state = await this.launchFiles.read(address);
    const { configurations } = this.documents;
    await configurations.ready(uri);
    if (!this.#isOn || this.documents.open.get(uri)?.version !== version) {
      return;
    }
    const isKnown = state.kind === 'read' && state.reading.family !== null;
    const found = isKnown ? launchDiagnostics(uri, state.reading, state.engine, configurations.levels(uri)) : [];
    this.shared.set('check', uri, found);
  }

  #clear(uri: string): void {
    this.#timers.get(uri)?.dispose();
    this.#timers.delete(uri);
    this.shared.set('check', uri, []);
  }
}

/** What the rules say of the job that a launch file starts, at the flags that it writes. */
export function launchDiagnostics(
  uri: string,
  reading: LaunchReading,
  { checkLaunch }: LaunchEngine,
  levels: RuleLevels,
): Diagnostic[] {
  const lines = new LineIndex(reading.files.get(reading.file) ?? '');
  return checkLaunch(reading, levels).map(({ diagnostic, offset, related }) =>
    diagnosticOf(
      uri,
      {
        ...diagnostic,
        span: wordAt(lines.text, offset),
        related: related.map((one) => ({ message: one.message, span: wordAt(lines.text, one.offset) })),
        fixes: [],
      },
      lines,
    ),
  );
}
