import { specOf } from './document';
import type { FactValue } from './facts';
import type { LaunchPlace, LaunchReading } from './import';
import { effectiveValue, type LayoutValue, layoutFileValues, worldOf } from './layout-values';

/** One value that a layout and a launch file give differently. */
export interface Difference {
  readonly key: string;
  /** What the layout means; its offset is null where the layout does not write the key. */
  readonly layout: { readonly value: FactValue; readonly offset: number | null };
  readonly launch: {
    readonly value: FactValue;
    readonly source: LaunchPlace | 'default';
    /** The UTF-16 offset of the value in its file; null for a default. */
    readonly offset: number | null;
  };
  readonly message: string;
}

/** A layout held against a launch file. */
export interface Drift {
  readonly differences: readonly Difference[];
  /** Keys that the layout writes and of which the launch file leaves the value open. */
  readonly unknown: readonly { readonly key: string; readonly lookedFor: string }[];
}

/** Values that say the same in two ways are compared as one of them. */
const SAME_AS: ReadonlyMap<string, readonly [shards: string, tp: string, remat: string]> = new Map([
  ['parallelism.num_weight_shards', ['num_weight_shards', 'tp', 'gtp_remat']],
  ['parallelism.expt_num_weight_shards', ['expt_num_weight_shards', 'expt_tp', 'expt_gtp_remat']],
]);

/**
 * Holds a layout against what was read of a launch file. A value differs where both know it; the framework's default
 * counts where the launch file is silent and the layout is not.
 * @param file the layout's path
 * @param text the layout
 */
export function driftBetween(file: string, text: string, reading: LaunchReading): Drift {
  const values = layoutFileValues(file, text) ?? new Map<string, LayoutValue>();
  const differences: Difference[] = [];
  const unknown: { key: string; lookedFor: string }[] = [];
  for (const { key, value, source, offset, lookedFor } of reading.values) {
    const written = key === 'world_size' ? worldOf(values) : values.get(key);
    if (!specOf(key)) {
      continue;
    }
    if (value === null) {
      if (written) {
        unknown.push({ key, lookedFor: lookedFor ?? 'its value' });
      }
      continue;
    }
    const mine = shardsOf(values, key) ?? effectiveValue(values, key);
    const isSilent = written === undefined && source === 'default';
    if (mine === undefined || isSilent || source === 'unknown' || same(mine, value)) {
      continue;
    }
    const launch = { value, source, offset: offset ?? null };
    differences.push({
      key,
      layout: { value: mine, offset: written?.place.offset ?? null },
      launch,
      message: messageOf(key, mine, written !== undefined, value, source === 'default'),
    });
  }
  return { differences, unknown };
}

/** The number of weight shards of a layout that writes the degree instead. */
function shardsOf(values: ReadonlyMap<string, LayoutValue>, key: string): FactValue | undefined {
  const names = SAME_AS.get(key);
  if (!names || values.has(key)) {
    return undefined;
  }
  const [, tp, remat] = names.map((name) => effectiveValue(values, `parallelism.${name}`));
  return typeof tp === 'number' && typeof remat === 'number' ? tp * remat : undefined;
}

function same(a: FactValue, b: FactValue): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function messageOf(key: string, mine: FactValue, isWritten: boolean, theirs: FactValue, isDefault: boolean): string {
  const name = key.replace(/^(parallelism|model|sequence|batch|optimizer)\./, '');
  const layout = isWritten
    ? `${name} is ${shown(mine)} in the layout`
    : `${name} is ${shown(mine)} by the layout's default`;
  return `${layout}, ${shown(theirs)} ${isDefault ? "by the framework's default: the launch file does not set it" : 'in the launch file'}.`;
}

function shown(value: FactValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
