import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import {
  type Checked,
  type Diagnostic,
  type NamedFile,
  namedLaunchFiles,
  notCompared,
  type Related,
  type SaidDifference,
  type Span,
  saidDifferences,
} from '../layout';
import {
  type Difference,
  type Drift,
  driftBetween,
  type LaunchReading,
  layoutFix,
  STARTS_NO_JOB,
} from '../layout/launch';
import { readLaunch, shownPath } from './launchFiles';
import { nearTo } from './repository';

/** The comparison of a layout with one launch file. */
export interface LaunchComparison {
  readonly drift: Drift;
  /** The differences that the layout does not silence. */
  readonly said: readonly SaidDifference<Difference>[];
}

/** Compares a layout with a launch file. A difference in a key that the layout lacks is placed where it names the launch file. */
export function compareWith(
  layout: string,
  checked: Checked,
  launch: string,
  reading: LaunchReading,
): LaunchComparison {
  const drift = driftBetween(layout, checked.text, reading);
  const path = resolve(launch);
  const named = namedLaunchFiles(checked).find(({ name }) => launchPath(layout, name) === path);
  return { drift, said: saidDifferences(checked, named?.span ?? START, drift.differences) };
}

const START: Span = { start: 0, end: 0 };

/** The path of a launch file that a layout names. */
function launchPath(layout: string, name: string): string {
  return resolve(dirname(resolve(layout)), name);
}

/** A launch file that a layout names. */
interface LaunchPath {
  readonly named: NamedFile;
  readonly file: string;
  /** Whether it lies in the layout's repository; one outside is not read. */
  readonly isNear: boolean;
}

/** The launch files that a layout names. */
export function launchPathsOf(layout: string, checked: Checked): LaunchPath[] {
  const isNear = nearTo(layout);
  return namedLaunchFiles(checked).map((named) => {
    const path = launchPath(layout, named.name);
    const short = relative(process.cwd(), path);
    // a file called `-` is not standard input
    return { named, file: short === '-' ? path : short, isNear: !existsSync(path) || isNear(path) };
  });
}

/** A checked layout with its differences from the launch files that it names; not for standard input, which has no folder. */
export function withLaunchDrift(layout: string, checked: Checked): Checked {
  const paths = layout === '-' ? [] : launchPathsOf(layout, checked);
  const found = paths.flatMap(({ named, file, isNear }) => driftOf(layout, checked, named, isNear ? file : null));
  const diagnostics = [...checked.diagnostics, ...found].sort((a, b) => a.span.start - b.span.start);
  return found.length > 0 ? { ...checked, diagnostics } : checked;
}

function driftOf(layout: string, checked: Checked, named: NamedFile, file: string | null): Diagnostic[] {
  const read = file === null ? { error: 'it lies outside the repository of the layout' } : readLaunch(file);
  const why = 'error' in read ? read.error : read.reading.family === null ? STARTS_NO_JOB : null;
  if (why !== null || 'error' in read) {
    const note = notCompared(checked, named, why ?? '');
    return note ? [note] : [];
  }
  const { reading } = read;
  return compareWith(layout, checked, file ?? '', reading).said.map(({ difference, diagnostic }) => {
    const fix = layoutFix({ file: layout, text: checked.text, reading, difference });
    return {
      ...diagnostic,
      related: [...diagnostic.related, ...placeOf(difference, diagnostic, named)],
      fixes: fix ? [{ title: fix.title, applicability: 'suggestion', edits: [fix.edit] }] : [],
    };
  });
}

/** Where the layout names the launch file, with the line of that file that sets the value. */
function placeOf({ key, launch }: Difference, { span }: Diagnostic, named: NamedFile): Related[] {
  const { source } = launch;
  return typeof source === 'string' || named.span.start === span.start
    ? []
    : [{ message: `${shownPath(source.file)}:${source.line} sets ${key}`, span: named.span }];
}
