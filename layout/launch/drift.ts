import { visible } from '../escape';
import { isKeyPath } from '../format/keyPath';
import type { KeyPath } from '../format/keys';
import { LineIndex } from '../format/lines';
import { FRAMEWORKS, type Framework } from '../frameworks';
import { listsStages } from './importedLayout';
import type { LaunchPlace, LaunchReading, LaunchValue } from './read';
import { lastPart } from './sources/paths';
import type { FactValue } from './value';
import { effectiveValue, type LayoutValues, layoutFileValues, namedModel, worldOf } from './writtenValues';

/** One value that a layout and a launch file give differently. */
export interface Difference {
  readonly key: KeyPath;
  /** What the layout means; its offset is null where the layout does not write the key. */
  readonly layout: { readonly value: FactValue; readonly offset: number | null };
  readonly launch: {
    readonly value: FactValue;
    readonly source: LaunchPlace | 'default';
    /** The UTF-16 offset of the value in its file; null for a default. */
    readonly offset: number | null;
  };
  /** What the layout is told. */
  readonly message: string;
  /** What the launch file is told, where it writes the value. */
  readonly mirrored: string;
}

/** A layout held against a launch file. */
export interface Drift {
  readonly differences: readonly Difference[];
  /** Keys that the layout writes and of which the launch file leaves the value open. */
  readonly unknown: readonly { readonly key: KeyPath; readonly lookedFor: string }[];
}

/**
 * Holds a layout against what was read of a launch file. A value differs where both know it; the framework's default
 * counts where the launch file is silent and the layout is not.
 * @param file the layout's path
 * @param text the layout
 * @param values what the layout writes, where that is known already
 */
export function driftBetween(
  file: string,
  text: string,
  reading: LaunchReading,
  values: LayoutValues = layoutFileValues(file, text) ?? new Map(),
): Drift {
  const differences: Difference[] = [];
  const unknown: { key: KeyPath; lookedFor: string }[] = [];
  const hasStages = listsStages((key) => values.get(key)?.value);
  const meant = new Map([...(namedModel(values)?.sizes ?? []), ...values]);
  const model = reading.values.find(({ key }) => key === 'model.from');
  const isSameModel = model !== undefined && values.get('model.from')?.value === model.value;
  for (const { key, value, source, offset, lookedFor } of withChunks(reading)) {
    if (!isKeyPath(key) || (hasStages && key === 'parallelism.vpp')) {
      continue;
    }
    const written = key === 'world_size' ? worldOf(values) : values.get(key);
    if (value === null) {
      if (written) {
        unknown.push({ key, lookedFor: lookedFor ?? 'its value' });
      }
      continue;
    }
    const mine = effectiveValue(meant, key);
    // the sizes of a model that both name are those of its name
    const isNamed = isSameModel && key.startsWith('model.') && offset === model.offset;
    const isSilent = written === undefined && (source === 'default' || isNamed);
    if (mine === undefined || isSilent || source === 'unknown' || same(mine, value)) {
      continue;
    }
    const found = {
      key,
      layout: { value: mine, offset: written?.place.offset ?? null },
      launch: { value, source, offset: offset ?? null },
    };
    differences.push({ ...found, ...wordsOf(file, text, reading, found) });
  }
  const engine = engineDifference(file, text, values, reading);
  return { differences: engine ? [...differences, engine] : differences, unknown };
}

/** What was read, with the chunks that a command of Megatron-LM has where it names none: an import need not write them. */
export function withChunks({ family, values }: LaunchReading): readonly LaunchValue[] {
  const has = (one: KeyPath) => values.some(({ key }) => key === one);
  const names = ['parallelism.vpp', 'parallelism.num_layers_per_virtual_pipeline_stage'] as const;
  return family === 'megatron-lm' && has('parallelism.pp') && !names.some(has)
    ? [...values, { key: 'parallelism.vpp', value: 1, source: 'default' }]
    : values;
}

/**
 * What trains, where both sides are of one framework: a layout without `launch.engine` means the framework's usual one, and so
 * does a reading.
 */
function engineDifference(file: string, text: string, values: LayoutValues, reading: LaunchReading): Difference | null {
  const engines = FRAMEWORKS.filter(({ name }) => name === reading.family);
  const usual = engines.find(({ engine }) => engine === undefined);
  const named = (engine: unknown) => engines.find((one) => one.engine !== undefined && one.engine === engine) ?? usual;
  const written = values.get('launch.engine');
  const [mine, theirs] = [named(written?.value), named(reading.engine)];
  if (mine === theirs || values.get('launch.family')?.value !== reading.family) {
    return null;
  }
  const offset = written?.place.offset ?? null;
  const [value, own] = [engineName(theirs), engineName(mine)];
  const line = offset === null ? '' : ` (line ${new LineIndex(text).positionAt(offset).line + 1})`;
  return {
    key: 'launch.engine',
    layout: { value: own, offset },
    launch: { value, source: { file: reading.file, line: 1 }, offset: null },
    message: visible(`${lastPart(reading.file)} trains on ${value}; this layout says engine ${own}.`),
    mirrored: visible(`${lastPart(file)} says engine ${own}${line}; this file trains on ${value}.`),
  };
}

/** The engine that a description is of; Megatron-LM's own script has none. */
function engineName(framework: Framework | undefined): string {
  const isMegatron = framework === undefined || framework.rules.megatron !== 'none';
  return framework?.engine ?? (isMegatron ? 'megatron' : framework.name);
}

function same(a: FactValue, b: FactValue): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The words for a difference, seen from the layout and from the launch file. */
function wordsOf(
  file: string,
  text: string,
  reading: LaunchReading,
  { key, layout: own, launch: other }: Omit<Difference, 'message' | 'mirrored'>,
): Pick<Difference, 'message' | 'mirrored'> {
  const [{ value: mine, offset }, { value: theirs, source }] = [own, other];
  const name = shortName(key);
  const layout = lastPart(file);
  const launch = lastPart(typeof source === 'string' ? reading.file : source.file);
  const isDefault = typeof source === 'string';
  const place = isDefault ? '' : ` (${placeName(reading, source, other.offset)}line ${source.line})`;
  const line = offset === null ? '' : ` (line ${new LineIndex(text).positionAt(offset).line + 1})`;
  const says = (who: string, value: FactValue, at: string) => `${who} says ${name} ${shown(value)}${at}`;
  const leaves = (who: string, value: FactValue) => `${who} leaves ${name} at its default, ${shown(value)}`;
  const launchClause = isDefault ? leaves(launch, theirs) : says(launch, theirs, place);
  const isWritten = offset !== null;
  return {
    message: visible(`${launchClause}; ${isWritten ? says('this layout', mine, '') : leaves('this layout', mine)}.`),
    mirrored: visible(
      `${isWritten ? says(layout, mine, line) : leaves(layout, mine)}; ${says('this file', theirs, '')}.`,
    ),
  };
}

/** A key as messages name it: without the section that its name alone implies. */
export function shortName(key: KeyPath): string {
  return key.replace(/^(parallelism|model|sequence|batch|optimizer)\./, '');
}

/** The flag, variable or key that a launch file writes in front of a value, with a comma behind it; empty where there is none. */
function placeName({ files }: LaunchReading, { file }: LaunchPlace, offset: number | null): string {
  const text = files.get(file) ?? '';
  if (offset === null || offset >= text.length) {
    return '';
  }
  const flag = /^(?:#SBATCH\s+)?(--?[A-Za-z][\w-]*)/.exec(text.slice(offset, offset + MAX_NAME))?.[1];
  const before =
    text
      .slice(Math.max(0, offset - MAX_NAME), offset)
      .split(/[\r\n]/)
      .at(-1) ?? '';
  const name = flag ?? nameBefore(before);
  return name === undefined ? '' : `${name}, `;
}

/** The name that a line assigns a value to, by what stands before the value: `tp: `, `"tp" = "`, `--tp=${TP:-`. */
function nameBefore(before: string): string | undefined {
  const separator = before.replace(/\$\{\w+:?-$/, '').replace(/["']$/, '');
  const left = separator.trimEnd();
  const isSeparated = /[=:]$/.test(left) || left.length < separator.length;
  const quoted = left.replace(/[=:]$/, '').trimEnd().replace(/["']$/, '');
  return isSeparated ? /(?<![\w.-])[\w.-]+$/.exec(quoted)?.[0].replace(/^[\d.]+/, '') || undefined : undefined;
}

/** How many characters of a launch file are looked at for the name of a value. */
const MAX_NAME = 200;

function shown(value: FactValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
