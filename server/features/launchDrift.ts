import {
  type CodeAction,
  CodeActionKind,
  type CodeLens,
  CodeLensRefreshRequest,
  type Connection,
  type Diagnostic,
  type Range,
} from 'vscode-languageserver';
import { URI } from 'vscode-uri';
import {
  type Checked,
  countOf,
  type Diagnostic as LayoutDiagnostic,
  LineIndex,
  type NamedFile,
  namedLaunchFiles,
  notCompared,
  type SaidDifference,
  saidDifferences,
  wordAt,
  workbenchText,
} from '../../layout';
import type { Difference, Drift, DriftFix, LaunchReading } from '../../layout/launch';
import type { Documents } from '../documents';
import type { LaunchAddress, LaunchEngine, LaunchFiles, LaunchState } from '../launchFiles';
import { action, ignoreAction } from './codeActions';
import { diagnosticOf } from './diagnostics';
import type { LaunchAnswers } from './feature';
import type { SharedDiagnostics } from './sharedDiagnostics';
import type { Outside } from './workspaceDiagnostics';

/** How many differences are told of one launch file. */
const MAX_DIFFERENCES = 200;

/** One launch file that a layout names. */
interface Named {
  readonly name: string;
  readonly address: LaunchAddress | null;
  readonly state: LaunchState;
  /** Null where it is not compared. */
  readonly drift: Drift | null;
  /** The differences that the layout does not silence. */
  readonly said: readonly SaidDifference<Difference>[];
  /** Why it is not compared. */
  readonly note: LayoutDiagnostic | null;
}

/** What a layout's launch files say of it. */
interface Compared {
  readonly checked: Checked;
  readonly version: number;
  readonly named: readonly Named[];
}

/** A difference with both files, for its fixes. */
interface Placed extends SaidDifference<Difference> {
  readonly layout: string;
  readonly checked: Checked;
  readonly reading: LaunchReading;
  readonly engine: LaunchEngine;
  readonly launch: URI;
}

/** Differences between open layouts and the launch files that they name, shown on both. */
export class LaunchDrift implements LaunchAnswers {
  readonly #compared = new Map<string, Compared>();

  /** @param refresh shows what is known of an open layout again */
  constructor(
    readonly connection: Connection,
    readonly documents: Documents,
    readonly launchFiles: LaunchFiles,
    readonly shared: SharedDiagnostics,
    refreshesLenses: boolean,
    refresh: () => void,
  ) {
    launchFiles.onDidChange(() => {
      refresh();
      this.publish();
      if (refreshesLenses) {
        void connection.sendRequest(CodeLensRefreshRequest.type);
      }
    });
    documents.open.onDidClose(({ document: { uri } }) => {
      if (this.#compared.delete(uri)) {
        this.publish();
      }
    });
  }

  has(uri: string): boolean {
    return this.launchFiles.has(uri);
  }

  get version(): number {
    return this.launchFiles.version;
  }

  /** The differences as diagnostics of the layout. Reads no file: what is not known yet follows when it is. */
  diagnostics(uri: string, checked: Checked): Diagnostic[] {
    const { named } = this.#of(uri, checked);
    return named.flatMap((one) => ofLaunchFile(uri, checked, one));
  }

  /** The same as the engine has them. */
  said(uri: string, checked: Checked): LayoutDiagnostic[] {
    const { named } = this.#of(uri, checked);
    return named.flatMap(({ said, note }) => [
      ...said.slice(0, MAX_DIFFERENCES).map(({ diagnostic }) => diagnostic),
      ...(note ? [note] : []),
    ]);
  }

  /** The differences of a layout that is not open, as diagnostics of it; null where it names no launch file. */
  closed(uri: string, checked: Checked): Promise<Outside> | null {
    const named = namedLaunchFiles(checked);
    return named.length === 0 ? null : this.#closed(uri, checked, named);
  }

  async #closed(uri: string, checked: Checked, named: readonly NamedFile[]): Promise<Outside> {
    const found: Diagnostic[] = [];
    const dependencies: string[] = [];
    for (const file of named) {
      const address = this.#addressOf(uri, file);
      const state: LaunchState = address ? await this.launchFiles.read(address) : { kind: 'unreadable' };
      found.push(...ofLaunchFile(uri, checked, compare(pathOf(uri), checked, file, address, state)));
      dependencies.push(...(address ? this.launchFiles.follow(address, state) : []));
    }
    return { diagnostics: found, dependencies };
  }

  /** Says beside `launch:` whether the layout matches its launch files. Waits until they are read for the first time. */
  async lenses(uri: string, checked: Checked, command: string): Promise<CodeLens[]> {
    const pending = this.#of(uri, checked).named.flatMap(({ address }) => address ?? []);
    await Promise.all(pending.map((address) => this.launchFiles.settled(address)));
    const span = checked.read.root?.launch.keySpan;
    return this.#of(uri, checked).named.flatMap((named) => {
      const { drift, address } = named;
      if (!drift || !span || !address) {
        return [];
      }
      const title = workbenchText(verdict(named, drift));
      const run = { title, command, ...(command !== '' && { arguments: [uri, address.uri] }) };
      return [{ range: checked.lines.rangeOf(span), command: run }];
    });
  }

  /** Quick fixes of the differences at a range of a layout or of a launch file. */
  actions(uri: string, range: Range): CodeAction[] {
    const own = this.documents.checked(uri);
    const touched = [...this.#all()].flatMap((placed) => {
      const shown = placed.layout === uri ? { uri, diagnostic: onLayout(placed) } : onLaunch(placed);
      const isHere = placed.layout === uri ? own !== null : shown?.uri === this.launchFiles.files.normal(uri);
      return isHere && shown && overlaps(shown.diagnostic.range, range) ? [{ placed, ...shown }] : [];
    });
    return [
      ...touched.flatMap(({ placed, diagnostic }) =>
        fixesOf(placed, placed.layout === uri).map((fix) => actionOf(placed, fix, diagnostic)),
      ),
      ...touched.slice(0, 1).flatMap(({ placed }) => (own ? ignoreAction(uri, own, placed.diagnostic) : [])),
    ];
  }

  /** Publishes the differences of all open layouts as diagnostics of their launch files, as far as they changed. */
  publish(): void {
    const byFile = new Map<string, Diagnostic[]>();
    for (const placed of this.#all()) {
      const shown = onLaunch(placed);
      if (shown) {
        const others = byFile.get(shown.uri) ?? [];
        byFile.set(shown.uri, [...others, shown.diagnostic].slice(0, MAX_DIFFERENCES));
      }
    }
    this.shared.setAll('drift', byFile);
    const named = [...this.#compared.values()].flatMap((compared) => compared.named);
    this.launchFiles.keep(named.flatMap(({ address }) => address ?? []));
  }

  #of(uri: string, checked: Checked): Compared {
    const known = this.#compared.get(uri);
    const { version } = this.launchFiles;
    if (known?.checked === checked && known.version === version) {
      return known;
    }
    const named = namedLaunchFiles(checked).map((file): Named => {
      const address = this.#addressOf(uri, file);
      const state: LaunchState = address ? this.launchFiles.state(address) : { kind: 'unreadable' };
      return compare(pathOf(uri), checked, file, address, state);
    });
    const compared = { checked, version, named };
    if (named.length > 0) {
      this.#compared.set(uri, compared);
    } else {
      this.#compared.delete(uri);
    }
    return compared;
  }

  #addressOf(uri: string, { name }: NamedFile): LaunchAddress | null {
    return name === '' ? null : this.launchFiles.addressOf(uri, name);
  }

  /** Every difference of every open layout. */
  *#all(): Iterable<Placed> {
    for (const uri of [...this.#compared.keys()]) {
      const checked = this.documents.checked(uri);
      if (checked) {
        yield* placedOf(uri, checked, this.#of(uri, checked).named);
      }
    }
  }
}

function* placedOf(layout: string, checked: Checked, named: readonly Named[]): Iterable<Placed> {
  for (const { state, address, said } of named) {
    if (address && state.kind === 'read') {
      const { reading, engine } = state;
      const launch = URI.parse(address.uri);
      yield* said.slice(0, MAX_DIFFERENCES).map((one) => ({ ...one, layout, checked, reading, engine, launch }));
    }
  }
}

/** What a launch file says of a layout, as diagnostics of the layout. */
function ofLaunchFile(uri: string, checked: Checked, named: Named): Diagnostic[] {
  const notes = named.note ? [diagnosticOf(uri, named.note, checked.lines)] : [];
  return [...[...placedOf(uri, checked, [named])].map(onLayout), ...notes];
}

/** Why a launch file that cannot be read is not compared. */
const UNREADABLE = 'it is missing, too large, no text, or outside the workspace folder';

/** Compares with what was read of a launch file. Reads nothing again, as it runs at every keystroke. */
function compare(
  file: string,
  checked: Checked,
  named: NamedFile,
  address: LaunchAddress | null,
  state: LaunchState,
): Named {
  const nothing = { name: named.name, address, state, drift: null, said: [], note: null };
  if (state.kind === 'pending') {
    return nothing;
  }
  if (state.kind === 'unreadable' || state.reading.family === null) {
    return {
      ...nothing,
      note: notCompared(checked, named, state.kind === 'read' ? state.engine.STARTS_NO_JOB : UNREADABLE),
    };
  }
  const { engine, reading } = state;
  const drift = engine.driftBetween(file, checked.text, reading, engine.layoutNodeValues(file, checked.read.tree.root));
  return { ...nothing, drift, said: saidDifferences(checked, named.span, drift.differences) };
}

function verdict({ name, said }: Named, { differences, unknown }: Drift): string {
  const ignored = differences.length - said.length;
  const others = [
    ...(ignored > 0 ? [`${ignored} ignored`] : []),
    ...(unknown.length > 0 ? [`${countOf(unknown.length, 'value')} unknown`] : []),
  ].map((part) => `; ${part}`);
  return `${said.length === 0 ? `matches ${name}` : `${countOf(said.length, 'difference')} from ${name}`}${others.join('')}`;
}

function onLayout(placed: Placed): Diagnostic {
  const { layout, checked, diagnostic, difference } = placed;
  const launch = launchPlace(placed);
  return {
    ...diagnosticOf(layout, diagnostic, checked.lines),
    relatedInformation: launch
      ? [{ message: difference.mirrored, location: { uri: launch.uri, range: launch.range } }]
      : [],
  };
}

/** A difference as a diagnostic of the launch file; null where that does not write the value. */
function onLaunch(placed: Placed): { uri: string; diagnostic: Diagnostic } | null {
  const { layout, difference } = placed;
  const place = launchPlace(placed);
  if (!place) {
    return null;
  }
  const own = onLayout(placed);
  const relatedInformation = [{ message: difference.message, location: { uri: layout, range: own.range } }];
  return {
    uri: place.uri,
    diagnostic: { ...own, range: place.range, message: difference.mirrored, relatedInformation },
  };
}

function launchPlace({ reading, launch, difference }: Placed): { uri: string; range: Range } | null {
  const { source, offset } = difference.launch;
  if (typeof source === 'string' || offset === null) {
    return null;
  }
  const text = reading.files.get(source.file) ?? '';
  const uri = launch.with({ path: source.file }).toString();
  return { uri, range: linesOf(text).rangeOf(wordAt(text, offset)) };
}

/** The line index of the last text that was asked for: the differences of one file come one after the other. */
let lastLines = new LineIndex('');

function linesOf(text: string): LineIndex {
  if (lastLines.text !== text) {
    lastLines = new LineIndex(text);
  }
  return lastLines;
}

function overlaps(one: Range, other: Range): boolean {
  const isBefore = (a: Range['end'], b: Range['start']) =>
    a.line < b.line || (a.line === b.line && a.character < b.character);
  return !isBefore(one.end, other.start) && !isBefore(other.end, one.start);
}

/** The fixes of a difference, the one that changes the shown file first. */
function fixesOf({ layout, checked, reading, engine, difference }: Placed, isOnLayout: boolean): DriftFix[] {
  const drift = { file: pathOf(layout), text: checked.text, reading, difference };
  const fixes = [engine.layoutFix(drift, !isOnLayout), engine.launchFix(drift)].filter((fix) => fix !== null);
  return isOnLayout ? fixes : fixes.reverse();
}

function actionOf({ layout, checked, reading, launch }: Placed, fix: DriftFix, diagnostic: Diagnostic): CodeAction {
  const isLayout = fix.file === pathOf(layout);
  const lines = isLayout ? checked.lines : linesOf(reading.files.get(fix.file) ?? '');
  const uri = isLayout ? layout : launch.with({ path: fix.file }).toString();
  const rewrite = { title: fix.title, edits: [fix.edit] };
  return { ...action(uri, rewrite, lines, CodeActionKind.QuickFix), diagnostics: [diagnostic] };
}

function pathOf(uri: string): string {
  return URI.parse(uri).path;
}
