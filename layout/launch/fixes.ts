import type { Edit } from '../diagnostic';
import { visible } from '../escape';
import { applyEdits } from '../format/edit';
import { type Difference, driftBetween, shortName } from './drift';
import { keyEdit, yamlText } from './layoutEdits';
import { type LaunchReading, readLaunchFile } from './read';
import { lastPart } from './sources/paths';
import type { FactValue } from './value';

/** A layout, and a difference between it and what was read of a launch file. */
export interface DriftCase {
  readonly file: string;
  readonly text: string;
  readonly reading: LaunchReading;
  readonly difference: Difference;
}

/** A change of one file that ends a difference and brings no other. */
export interface DriftFix {
  /** The path of the file that changes. */
  readonly file: string;
  readonly title: string;
  readonly edit: Edit;
}

/**
 * Writes the launch file's value into the layout; null where that does not end the difference.
 * @param namesFile whether the title names the layout, as an editor of the launch file needs
 */
export function layoutFix({ file, text, reading, difference }: DriftCase, namesFile = false): DriftFix | null {
  const { key, launch } = difference;
  const newText = yamlText(launch.value);
  const edit = newText === null ? null : keyEdit(text, key.split('.'), newText);
  if (!edit || !ends(difference, driftBetween(file, text, reading), file, applyEdits(text, [edit]), reading)) {
    return null;
  }
  const where = namesFile ? ` in ${lastPart(file)}` : '';
  return {
    file,
    title: visible(`Change ${shortName(key)} to ${newText}${where}, as ${lastPart(reading.file)} says`),
    edit,
  };
}

/**
 * Writes the layout's value into the launch file; null where the launch file does not write the value as it stands, or
 * where the change does not end the difference.
 */
export function launchFix({ file, text, reading, difference }: DriftCase): DriftFix | null {
  const { layout, launch, key } = difference;
  const newText = plainText(layout.value);
  const oldText = plainText(launch.value);
  if (typeof launch.source === 'string' || launch.offset === null || newText === null || oldText === null) {
    return null;
  }
  const { file: changed, line } = launch.source;
  const before = reading.files.get(changed) ?? '';
  // a directive is known by its line, which names the option first
  const option = /^#SBATCH[ \t]+-[\w-]{1,64}(?:=|[ \t]+)?/.exec(
    before.slice(launch.offset, launch.offset + MAX_OPTION),
  );
  const start = launch.offset + (option?.[0].length ?? 0);
  const end = start + oldText.length;
  if (before.slice(start, end) !== oldText || /^[\w.-]/.test(before.slice(end, end + 1))) {
    return null;
  }
  const edit = { span: { start, end }, newText };
  const files = new Map(reading.files).set(changed, applyEdits(before, [edit]));
  const after = readLaunchFile(reading.file, files.get(reading.file) ?? '', (path) => files.get(path) ?? null);
  if (!ends(difference, driftBetween(file, text, reading), file, text, after)) {
    return null;
  }
  return {
    file: changed,
    title: visible(`Change ${shortName(key)} to ${newText} in ${lastPart(changed)}, line ${line}`),
    edit,
  };
}

/** The longest directive of a scheduler up to its value, in UTF-16 units. */
const MAX_OPTION = 128;

/** Whether a change ends a difference and brings none that was not there. */
function ends(
  difference: Difference,
  before: { readonly differences: readonly Difference[] },
  file: string,
  text: string,
  reading: LaunchReading,
): boolean {
  const keys = new Set(before.differences.map(({ key }) => key));
  const { differences } = driftBetween(file, text, reading);
  return reading.family !== null && differences.every(({ key }) => keys.has(key) && key !== difference.key);
}

/** A value as a launch file writes it by itself; null where that cannot be told. */
function plainText(value: FactValue): string | null {
  const text = Array.isArray(value) ? '' : String(value);
  return /^[\w.][\w.-]*$/.test(text) ? text : null;
}
