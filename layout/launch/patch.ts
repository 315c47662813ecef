import { type Understood, understand } from '../check';
import type { Edit } from '../diagnostic';
import { patchName, terminalLine } from '../escape';
import { applyEdits } from '../format/edit';
import { isKeyPath } from '../format/keyPath';
import type { KeyPath } from '../format/keys';
import { type KeyDifference, keyDifferences, keyValues } from '../keyDifferences';
import { type Difference, driftBetween, withChunks } from './drift';
import { launchFix } from './fixes';
import { type LaunchReading, readLaunchFile } from './read';
import { sbatchDirectives } from './sources/shell/slurm';
import type { FactValue } from './value';
import { effectiveValue, layoutFileValues } from './writtenValues';

/** What turns a launch file into that of another layout. */
export interface LaunchPatch {
  /** The files that change, by path, with their text before and after. */
  readonly files: ReadonlyMap<string, { readonly before: string; readonly after: string }>;
  /** The differences that are written; what the files do not write as it stands is left. */
  readonly written: readonly Difference[];
  /** The keys that the files then give as the layout does, also where they follow from others. */
  readonly settled: ReadonlySet<string>;
}

/**
 * Writes the values of a layout into a launch file, one after another, as the fixes of a drift do.
 * @param file the layout's path
 * @param text the layout
 */
export function launchPatch(file: string, text: string, reading: LaunchReading): LaunchPatch {
  const files = new Map(reading.files);
  const written: Difference[] = [];
  let now = reading;
  for (let next = firstFix(file, text, now); next !== null; next = firstFix(file, text, now)) {
    const { fix, difference } = next;
    files.set(fix.file, applyEdits(files.get(fix.file) ?? '', [fix.edit]));
    written.push(difference);
    now = readLaunchFile(reading.file, files.get(reading.file) ?? '', (path) => files.get(path) ?? null);
  }
  const script = files.get(reading.file) ?? '';
  files.set(reading.file, applyEdits(script, allocationEdits(script, nodesIn(reading), nodesIn(now))));
  const changed = [...files].filter(([path, after]) => after !== reading.files.get(path));
  return {
    files: new Map(changed.map(([path, after]) => [path, { before: reading.files.get(path) ?? '', after }])),
    written,
    settled: settledKeys(file, text, now),
  };
}

const nodesIn = ({ values }: LaunchReading): FactValue | null | undefined =>
  values.find(({ key }) => key === 'cluster.nodes')?.value;

/** What keeps the nodes that a script asks Slurm for those that its launcher names, where they were the same. */
function allocationEdits(
  script: string,
  before: FactValue | null | undefined,
  after: FactValue | null | undefined,
): Edit[] {
  const directive = sbatchDirectives(script).get('nodes');
  if (!directive || typeof after !== 'number' || before === after || directive.value !== String(before)) {
    return [];
  }
  const start = script.indexOf(directive.value, directive.offset);
  return [{ span: { start, end: start + directive.value.length }, newText: String(after) }];
}

function settledKeys(file: string, text: string, reading: LaunchReading): ReadonlySet<string> {
  const meant = layoutFileValues(file, text) ?? new Map();
  const open = new Set(driftBetween(file, text, reading, meant).differences.map(({ key }): string => key));
  const isMeant = (key: KeyPath) => key === 'world_size' || effectiveValue(meant, key) !== undefined;
  return new Set(
    withChunks(reading).flatMap(({ key, value }) =>
      value !== null && isKeyPath(key) && isMeant(key) && !open.has(key) ? [key] : [],
    ),
  );
}

/** How another layout gets into the launch files of one. */
export interface LaunchChange {
  /** Null where no launch file could be read. */
  readonly patches: readonly LaunchPatch[] | null;
  /** Changed keys that the patched files do not give. */
  readonly byHand: readonly KeyDifference[];
}

/**
 * What turns the launch files of a layout into those of another, and what is left to a person.
 * @param file the layout's path
 * @param text the other layout
 */
export function launchChange(
  file: string,
  layout: Understood,
  text: string,
  readings: readonly LaunchReading[],
): LaunchChange {
  const known = readings.filter(({ family }) => family !== null);
  const patches = known.map((reading) => launchPatch(file, text, reading));
  return {
    patches: patches.length > 0 ? patches : null,
    byHand: keyDifferences(keyValues(layout), keyValues(understand(text))).filter(
      ({ path }) => !patches.some(({ settled }) => settled.has(path.join('.'))),
    ),
  };
}

/** A change that is left to a person, on one line. */
export const handLine = ({ path, before, after }: KeyDifference): string =>
  terminalLine(`${path.join('.')} ${before ?? 'unset'} → ${after ?? 'unset'}`);

/** Each fix ends a difference and brings none, so that this comes to an end. */
function firstFix(file: string, text: string, reading: LaunchReading) {
  for (const difference of driftBetween(file, text, reading).differences) {
    const fix = launchFix({ file, text, reading, difference });
    if (fix) {
      return { fix, difference };
    }
  }
  return null;
}

/** Lines around a change. */
const CONTEXT = 3;

/** The difference of two texts with equally many lines, as `git apply` and `patch -p1` take it. @param path under the folder of the patch */
export function unifiedDiff(path: string, before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const changed = old.flatMap((line, i) => (line === now[i] ? [] : [i]));
  const hunks: [first: number, end: number][] = [];
  for (const at of changed) {
    const last = hunks.at(-1);
    const end = Math.min(old.length, at + CONTEXT + 1);
    if (last && at - CONTEXT <= last[1]) {
      last[1] = end;
    } else {
      hunks.push([Math.max(0, at - CONTEXT), end]);
    }
  }
  return [
    `--- ${patchName(`a/${path}`)}`,
    `+++ ${patchName(`b/${path}`)}`,
    ...hunks.flatMap(([first, end]) => hunkLines(old, now, first, end)),
    '',
  ].join('\n');
}

function hunkLines(old: readonly string[], now: readonly string[], first: number, end: number): string[] {
  // what follows the last line break is no line
  const stop = end === old.length && old.at(-1) === '' ? end - 1 : end;
  const lines: string[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  for (let i = first; i < stop; i++) {
    const [was = '', is = ''] = [old[i], now[i]];
    if (was === is) {
      lines.push(...removed, ...added, ` ${was}`);
      [removed, added] = [[], []];
    } else {
      const isOpen = i === old.length - 1 ? ['\\ No newline at end of file'] : [];
      removed.push(`-${was}`, ...isOpen);
      added.push(`+${is}`, ...isOpen);
    }
  }
  return [`@@ -${first + 1},${stop - first} +${first + 1},${stop - first} @@`, ...lines, ...removed, ...added];
}
