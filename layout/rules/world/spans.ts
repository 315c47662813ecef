import type { Related } from '../../diagnostic';
import { memoizeRecent } from '../../memoize';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { repr } from '../../topology/python';

/** A module whose place in the world is known: ranks `[start, end)`. */
export interface ModuleSpan {
  readonly module: ModuleFacts;
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** How the modules of a file lie in the world. */
export interface Coverage {
  readonly placed: readonly ModuleSpan[];
  /** Undefined where the file does not say it. */
  readonly world: number | undefined;
  /** Whether no module reaches beyond the world. */
  readonly fits: boolean;
  /** Whether all modules have the same ranks. */
  readonly colocated: boolean;
  /** Modules that share ranks with one that begins before them, the earlier in the file first. */
  readonly pairs: readonly (readonly [ModuleSpan, ModuleSpan])[];
}

/**
 * How the modules lie, worked out once for all rules; null before each of them is whole by itself, to say one thing at a
 * time.
 */
export const coverageOf: (facts: LayoutFacts) => Coverage | null = memoizeRecent(measured);

function measured(facts: LayoutFacts): Coverage | null {
  const placed = placedModules(facts);
  const world = facts.world.size;
  return (
    placed && {
      placed,
      world,
      fits: placed.every(({ end }) => end <= (world ?? end)),
      colocated: placed.every((one) => placed[0] && sameSpan(one, placed[0])),
      pairs: sharingPairs(placed),
    }
  );
}

function placedModules({ modules, heterogeneous, mimoFlags }: LayoutFacts): ModuleSpan[] | null {
  // the flags of examples/mimo are placed before the expert grids are looked at
  const whole = mimoFlags
    ? modules.every(({ dp }) => dp !== undefined)
    : modules.every(({ dp, exptDp }) => dp !== undefined && exptDp !== undefined);
  if (!heterogeneous || modules.length === 0 || !whole) {
    return null;
  }
  const placed = modules.flatMap((module) =>
    module.name !== null && module.rankOffset !== undefined && module.ranks !== undefined
      ? [{ module, name: module.name, start: module.rankOffset, end: module.rankOffset + module.ranks }]
      : [],
  );
  return placed.length === modules.length ? placed : null;
}

export const sameSpan = (a: ModuleSpan, b: ModuleSpan): boolean => a.start === b.start && a.end === b.end;

export const overlaps = (a: ModuleSpan, b: ModuleSpan): boolean => a.start < b.end && b.start < a.end;

/** Each module with the one before it that reaches furthest, where they share ranks. Costs O(modules log modules). */
function sharingPairs(placed: readonly ModuleSpan[]): [ModuleSpan, ModuleSpan][] {
  const sorted = [...placed].sort((a, b) => a.start - b.start || a.end - b.end);
  const order = new Map(placed.map((one, i) => [one, i]));
  const pairs: [ModuleSpan, ModuleSpan][] = [];
  let widest: ModuleSpan | null = null;
  for (const one of sorted) {
    if (widest && overlaps(widest, one)) {
      const pair: [ModuleSpan, ModuleSpan] =
        (order.get(widest) ?? 0) < (order.get(one) ?? 0) ? [widest, one] : [one, widest];
      pairs.push(pair);
    }
    if (!widest || one.end > widest.end) {
      widest = one;
    }
  }
  return pairs;
}

/** How examples/mimo/training/topology.py prints the modules' ranges. */
export function rangesOf(placed: readonly ModuleSpan[]): string {
  return `{${placed.map(({ name, start, end }) => `${repr(name)}: (${start}, ${end})`).join(', ')}}`;
}

export const rangeText = (start: number, end: number): string =>
  end - start === 1 ? `rank ${start}` : `ranks ${start} to ${end - 1}`;

export const spanRelated = ({ name, start, end, module }: ModuleSpan): Related => ({
  message: `'${name}' covers ${rangeText(start, end)}`,
  span: module.nameSpan,
});

/** Whether two modules share one span while another stands elsewhere. */
export function isMixed({ colocated, pairs }: Coverage): boolean {
  return !colocated && pairs.some(([a, b]) => sameSpan(a, b));
}

/** What `create_topology` in examples/mimo/training/topology.py says of ranges that share some ranks. */
export function overlapPrediction(placed: readonly ModuleSpan[]): string {
  return `Module grids must either fully share ranks or be pairwise disjoint, got ${rangesOf(placed)}`;
}
