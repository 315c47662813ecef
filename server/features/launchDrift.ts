import {
  type CodeAction,
  CodeActionKind,
  type CodeLens,
  CodeLensRefreshRequest,
  type Connection,
  type Diagnostic,
  DiagnosticSeverity,
  type Range,
} from 'vscode-languageserver';
import { URI } from 'vscode-uri';
import { type Checked, countOf, LineIndex, projectUrl, type Span } from '../../layout';
import type { Difference, Drift, DriftFix, LaunchReading } from '../../layout/launch';
import type { Documents } from '../documents';
import { type LaunchAddress, type LaunchEngine, type LaunchFiles, type LaunchState, wordAt } from '../launchFiles';
import { SOURCE } from './diagnostics';
import type { SharedDiagnostics } from './sharedDiagnostics';

/** The code of every difference between a layout and a launch file. */
const CODE = 'launch-drift';

/** How many launch files of one layout are compared. */
const MAX_NAMED = 16;

/** How many differences are told of one launch file. */
const MAX_DIFFERENCES = 200;

/** One launch file that a layout names. */
interface Named {
  readonly name: string;
  /** Where the layout names it. */
  readonly span: Span;
  readonly address: LaunchAddress | null;
  readonly state: LaunchState;
  readonly drift: Drift | null;
}

/** What a layout's launch files say of it. */
interface Compared {
  readonly checked: Checked;
  readonly version: number;
  readonly named: readonly Named[];
}

/** A difference with both files, for its fixes. */
interface Placed {
  readonly layout: string;
  readonly checked: Checked;
  readonly reading: LaunchReading;
  readonly engine: LaunchEngine;
  readonly launch: URI;
  readonly difference: Difference;
}

/** Differences between open layouts and the launch files that they name, shown on both. */
export class LaunchDrift {
  readonly #compared = new Map<string, Compared>();
  /** The launch files that have differences. */
  readonly #published = new Set<string>();

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

  get version(): number {
    return this.launchFiles.version;
  }

  /** The differences as diagnostics of the layout. Reads no file: what is not known yet follows when it is. */
  diagnostics(uri: string, checked: Checked): Diagnostic[] {
    return this.#of(uri, checked).named.flatMap((named) => {
      const { state, drift, address } = named;
      if (drift === null || state.kind !== 'read' || !address) {
        return unread(named, checked);
      }
      return drift.differences
        .slice(0, MAX_DIFFERENCES)
        .map((difference) =>
          layoutDiagnostic({ ...this.#placed(uri, checked, state, address), difference }, named.span),
        );
    });
  }

  /** Says beside `launch:` whether the layout matches its launch files. Waits until they are read for the first time. */
  async lenses(uri: string, checked: Checked, command: string): Promise<CodeLens[]> {
    const pending = this.#of(uri, checked).named.flatMap(({ address }) => address ?? []);
    await Promise.all(pending.map((address) => this.launchFiles.settled(address)));
    const span = checked.read.root?.launch.keySpan;
    return this.#of(uri, checked).named.flatMap(({ name, drift, address }) => {
      if (!drift || !span || !address) {
        return [];
      }
      const title = verdict(name, drift);
      const run = { title, command, ...(command !== '' && { arguments: [uri, address.uri] }) };
      return [{ range: checked.lines.rangeOf(span), command: run }];
    });
  }

  /** Quick fixes of the differences at a range of a layout or of a launch file. */
  actions(uri: string, range: Range): CodeAction[] {
    const own = this.documents.checked(uri);
    const touched = [...this.#all()].flatMap((placed) => {
      const shown = placed.layout === uri ? this.#onLayout(placed) : onLaunch(placed);
      const isHere = placed.layout === uri ? own !== null : shown?.uri === this.launchFiles.files.normal(uri);
      return isHere && shown && overlaps(shown.diagnostic.range, range) ? [{ placed, ...shown }] : [];
    });
    return touched.flatMap(({ placed, diagnostic }) => fixesOf(placed).map((fix) => actionOf(placed, fix, diagnostic)));
  }

  /** Publishes the differences of all open layouts as diagnostics of their launch files, as far as they changed. */
  publish(): void {
    const byFile = new Map<string, Diagnostic[]>();
    for (const placed of this.#all()) {
      const shown = onLaunch(placed);
      if (shown) {
        const others = byFile.get(shown.uri) ?? [];
        others.push(shown.diagnostic);
        byFile.set(shown.uri, others);
      }
    }
    for (const uri of new Set([...this.#published, ...byFile.keys()])) {
      const diagnostics = (byFile.get(uri) ?? []).slice(0, MAX_DIFFERENCES);
      this.shared.set('drift', uri, diagnostics);
      if (diagnostics.length > 0) {
        this.#published.add(uri);
      } else {
        this.#published.delete(uri);
      }
    }
    const named = [...this.#compared.values()].flatMap((compared) => compared.named);
    this.launchFiles.keep(named.flatMap(({ address }) => address ?? []));
  }

  #of(uri: string, checked: Checked): Compared {
    const known = this.#compared.get(uri);
    const { version } = this.launchFiles;
    if (known?.checked === checked && known.version === version) {
      return known;
    }
    const named = (checked.read.root?.launch.value?.files.value ?? []).slice(0, MAX_NAMED).map(({ value, span }) => {
      const name = value ?? '';
      const address = value ? this.launchFiles.addressOf(uri, value) : null;
      const state: LaunchState = address ? this.launchFiles.state(address) : { kind: 'unreadable' };
      const isKnown = state.kind === 'read' && state.reading.family !== null;
      const drift = isKnown ? compare(pathOf(uri), checked, state) : null;
      return { name, span, address, state, drift };
    });
    const compared = { checked, version, named };
    if (named.length > 0) {
      this.#compared.set(uri, compared);
    } else {
      this.#compared.delete(uri);
    }
    return compared;
  }

  /** Every difference of every open layout. */
  *#all(): Iterable<Placed> {
    for (const uri of [...this.#compared.keys()]) {
      const checked = this.documents.checked(uri);
      for (const { state, address, drift } of checked ? this.#of(uri, checked).named : []) {
        if (checked && drift && address && state.kind === 'read') {
          const placed = this.#placed(uri, checked, state, address);
          yield* drift.differences.map((difference) => ({ ...placed, difference }));
        }
      }
    }
  }

  #placed(
    layout: string,
    checked: Checked,
    { reading, engine }: Extract<LaunchState, { kind: 'read' }>,
    { uri }: LaunchAddress,
  ): Omit<Placed, 'difference'> {
    return { layout, checked, reading, engine, launch: URI.parse(uri) };
  }

  #onLayout(placed: Placed): { uri: string; diagnostic: Diagnostic } | null {
    const named = this.#compared
      .get(placed.layout)
      ?.named.find(({ drift }) => drift?.differences.includes(placed.difference));
    return named ? { uri: placed.layout, diagnostic: layoutDiagnostic(placed, named.span) } : null;
  }
}

/** Reads nothing again, as it runs at every keystroke. */
function compare(
  file: string,
  { text, read }: Checked,
  { reading, engine }: Extract<LaunchState, { kind: 'read' }>,
): Drift {
  return engine.driftBetween(file, text, reading, engine.layoutNodeValues(file, read.tree.root));
}

function verdict(name: string, { differences, unknown }: Drift): string {
  const open = unknown.length > 0 ? `; ${countOf(unknown.length, 'value')} unknown` : '';
  return differences.length === 0
    ? `matches ${name}${open}`
    : `${countOf(differences.length, 'difference')} from ${name}${open}`;
}

/** Why a launch file is not compared, at the place where the layout names it; nothing while it is being read. */
function unread({ name, span, state }: Named, { lines }: Checked): Diagnostic[] {
  if (state.kind === 'pending') {
    return [];
  }
  const reason =
    state.kind === 'read'
      ? `it starts no training job that can be read`
      : `it is missing, too large, no text, or outside the workspace folder`;
  const message = `This layout is not compared with ${name}: ${reason}.`;
  return [{ ...DIAGNOSTIC, severity: DiagnosticSeverity.Information, range: lines.rangeOf(span), message }];
}

const DIAGNOSTIC = {
  severity: DiagnosticSeverity.Warning,
  code: CODE,
  codeDescription: { href: projectUrl('docs/launch.md#when-they-differ') },
  source: SOURCE,
};

/** @param named where the layout names the launch file, for a key that the layout does not write */
function layoutDiagnostic(placed: Placed, named: Span): Diagnostic {
  const { checked, difference } = placed;
  const { offset } = difference.layout;
  const range = checked.lines.rangeOf(offset === null ? named : wordAt(checked.text, offset));
  const launch = launchPlace(placed);
  return {
    ...DIAGNOSTIC,
    range,
    message: difference.message,
    relatedInformation: launch
      ? [{ message: difference.mirrored, location: { uri: launch.uri, range: launch.range } }]
      : [],
  };
}

/** A difference as a diagnostic of the launch file; null where that does not write the value. */
function onLaunch(placed: Placed): { uri: string; diagnostic: Diagnostic } | null {
  const { layout, checked, difference } = placed;
  const place = launchPlace(placed);
  const own = checked.lines.rangeOf(wordAt(checked.text, difference.layout.offset ?? 0));
  const related = [{ message: difference.message, location: { uri: layout, range: own } }];
  return (
    place && {
      uri: place.uri,
      diagnostic: { ...DIAGNOSTIC, range: place.range, message: difference.mirrored, relatedInformation: related },
    }
  );
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

function fixesOf({ layout, checked, reading, engine, difference }: Placed): DriftFix[] {
  const drift = { file: pathOf(layout), text: checked.text, reading, difference };
  return [engine.layoutFix(drift), engine.launchFix(drift)].filter((fix) => fix !== null);
}

function actionOf({ layout, checked, reading, launch }: Placed, fix: DriftFix, diagnostic: Diagnostic): CodeAction {
  const isLayout = fix.file === pathOf(layout);
  const lines = isLayout ? checked.lines : linesOf(reading.files.get(fix.file) ?? '');
  const uri = isLayout ? layout : launch.with({ path: fix.file }).toString();
  const edits = [{ range: lines.rangeOf(fix.edit.span), newText: fix.edit.newText }];
  return {
    title: fix.title,
    kind: CodeActionKind.QuickFix,
    diagnostics: [diagnostic],
    edit: { changes: { [uri]: edits } },
  };
}

function pathOf(uri: string): string {
  return URI.parse(uri).path;
}
