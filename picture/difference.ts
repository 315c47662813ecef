import {
  type GridGroups,
  type GroupFamily,
  isPacked,
  type RankLists,
  type ResolvedLayout,
  type ResolvedModule,
} from '../layout';
import { writeValues } from './colour';
import { colouringBy } from './colourings';
import { familiesOf, gridsOf } from './rankDetails';

/** How a rank differs between two layouts; the largest difference last. */
export const CHANGES = ['same', 'peers', 'coordinates', 'absent'] as const;
export type Change = (typeof CHANGES)[number];

const [PEERS, COORDINATES, ABSENT] = [1, 2, 3];

/** What two layouts have that the other has not. */
export class Difference {
  /** The ranks that differ, ascending: those of the larger world. */
  readonly ranks: readonly number[];
  readonly #counts: Uint32Array;

  /**
   * @param changes of every rank of the larger world its place in `CHANGES`
   * @param dims the dimensions along which ranks have other coordinates, and first `module`
   * @param moved of every rank these dimensions, a bit each in their order
   */
  constructor(
    readonly changes: Uint8Array,
    readonly dims: readonly string[],
    readonly moved: Uint16Array,
  ) {
    const counts = new Uint32Array(CHANGES.length);
    for (let rank = 0; rank < changes.length; rank++) {
      const change = changes[rank] ?? 0;
      counts[change] = (counts[change] ?? 0) + 1;
    }
    const ranks = new Array<number>(changes.length - (counts[0] ?? 0));
    for (let rank = 0, at = 0; at < ranks.length; rank++) {
      if (changes[rank] !== 0) {
        ranks[at++] = rank;
      }
    }
    this.ranks = ranks;
    this.#counts = counts;
  }

  changeOf(rank: number): Change {
    return CHANGES[this.changes[rank] ?? 0] ?? 'same';
  }

  count(change: Change): number {
    return this.#counts[CHANGES.indexOf(change)] ?? 0;
  }
}

/** The difference that is marked on ranks; null where no rank differs, or all do, which the summary in words says. */
export const markedDifference = (difference: Difference | null, worldSize: number): Difference | null =>
  difference && difference.ranks.length > 0 && difference.ranks.length < worldSize ? difference : null;

/** Finds the ranks whose coordinates or whose peers in any process group differ between two layouts. */
export function differenceOf(before: ResolvedLayout, after: ResolvedLayout): Difference {
  const changes = new Uint8Array(Math.max(before.worldSize, after.worldSize));
  const moved = new Uint16Array(changes.length);
  if (formOf(before) === formOf(after)) {
    return new Difference(changes, [], moved);
  }
  // the worse is written over the less bad
  comparePeers(before, after, changes);
  const dims = compareCoordinates(before, after, changes, moved);
  changes.fill(ABSENT, Math.min(before.worldSize, after.worldSize));
  return new Difference(changes, dims, moved);
}

/** All that coordinates and groups follow from. */
function formOf({ modules, mode, worldSize, optimizerInstances, ntp, ...rest }: ResolvedLayout): string {
  const { hierarchicalContextParallelSizes, allGatherGroup, expertAllGatherGroup } = rest;
  const more = [hierarchicalContextParallelSizes, allGatherGroup, expertAllGatherGroup];
  return JSON.stringify([modules, mode, worldSize, optimizerInstances, ntp, more]);
}

/** What a rank has another of that is in a module in one of two layouts only. */
const MODULE = 'module';
const STRAY = 1;

/** Marks the ranks with other coordinates; returns the dimensions along which some have. */
function compareCoordinates(
  before: ResolvedLayout,
  after: ResolvedLayout,
  changes: Uint8Array,
  moved: Uint16Array,
): readonly string[] {
  const shared = Math.min(before.worldSize, after.worldSize);
  const found = [MODULE];
  // without expert parallelism the grid of the experts says nothing that the dense one does not
  const isDense = [...before.modules, ...after.modules].every(({ expert }) =>
    expert.every(({ name, size }) => name !== 'ep' || size === 1),
  );
  for (const name of new Set([...before.modules, ...after.modules].map((module) => module.name))) {
    const [one, other] = [before, after].map((layout) => only(layout, name));
    const dims = [one, other].flatMap((layout) => layout?.modules ?? []).flatMap(dimsOf);
    for (const dim of new Set(dims)) {
      if (stepsAlong(one, dim) !== stepsAlong(other, dim)) {
        const bit = found.includes(dim) ? found.indexOf(dim) : found.push(dim) - 1;
        const marks = { changes, moved, bits: isDense && dim.startsWith('expt_') ? 0 : 1 << bit };
        compareValues(valuesAlong(one, dim, shared), valuesAlong(other, dim, shared), marks);
      }
    }
  }
  return found;
}

/** All that the coordinates of ranks along a dimension follow from. */
function stepsAlong(layout: ResolvedLayout | null | undefined, dim: string): string {
  const steps = layout?.modules.flatMap((module) =>
    gridsOf(module).flatMap(({ offset, size: ranks, axes }) =>
      axes
        .filter(({ name }) => name === dim)
        .map(({ size, stride }) => [offset, ranks, size, size > 1 ? stride : 1, module.numRanks]),
    ),
  );
  return JSON.stringify([steps, isPacked(layout?.ntp ?? null) ? layout?.ntp : null]);
}

/** The coordinate of every rank along a dimension; -1 where it has none. */
function valuesAlong(layout: ResolvedLayout | null | undefined, dim: string, ranks: number): Int32Array {
  const values = new Int32Array(ranks).fill(-1);
  if (layout) {
    writeValues(colouringBy(layout, dim), values, (value) => value);
  }
  return values;
}

interface Marks {
  readonly changes: Uint8Array;
  readonly moved: Uint16Array;
  /** What is added to `moved` of a rank where its coordinate differs. */
  readonly bits: number;
}

function compareValues(one: Int32Array, other: Int32Array, { changes, moved, bits }: Marks): void {
  for (let rank = 0; rank < one.length; rank++) {
    if (one[rank] !== other[rank]) {
      changes[rank] = COORDINATES;
      moved[rank] = (moved[rank] ?? 0) | ((one[rank] ?? 0) < 0 || (other[rank] ?? 0) < 0 ? STRAY : bits);
    }
  }
}

/** The layout with one module only, since modules may share ranks; null where it has no such module. */
function only(layout: ResolvedLayout, name: string | null): ResolvedLayout | null {
  const modules = layout.modules.filter((module) => module.name === name);
  return modules.length > 0 ? { ...layout, modules } : null;
}

const dimsOf = ({ dense, expert }: ResolvedModule): string[] => [...dense, ...expert].map(({ name }) => name);

function comparePeers(before: ResolvedLayout, after: ResolvedLayout, changes: Uint8Array): void {
  const keyOf = ({ name, module }: GroupFamily) => `${module ?? ''}/${name}`;
  const [one, other] = [before, after].map(
    (layout) => new Map(familiesOf(layout).map((family) => [keyOf(family), family])),
  );
  const sizes = (layout: ResolvedLayout) => String(layout.hierarchicalContextParallelSizes);
  for (const key of new Set([...(one?.keys() ?? []), ...(other?.keys() ?? [])])) {
    const [a, b] = [one?.get(key), other?.get(key)];
    // the levels of hierarchical groups follow from the groups that they cut and from the sizes of the levels
    const levels = a?.name === 'hcp' && b?.name === 'hcp';
    if (a?.grid && b?.grid && a.grid.grid.offset === b.grid.grid.offset) {
      compareGrids(a.grid, b.grid, changes);
    } else if (!levels || sizes(before) !== sizes(after)) {
      compareFamilies(a, levels ? undefined : b, changes);
      compareFamilies(b, levels ? undefined : a, changes);
    }
  }
}

/** Marks the ranks whose groups differ between grids that begin at the same rank: none are listed. */
function compareGrids(one: GridGroups, other: GridGroups, changes: Uint8Array): void {
  const { offset } = one.grid;
  const [first, second] = [one, other].map(({ grid }) => offset + grid.size);
  if (JSON.stringify(one.steps) !== JSON.stringify(other.steps)) {
    changes.fill(PEERS, offset, one.size > 1 ? first : offset);
    changes.fill(PEERS, offset, other.size > 1 ? second : offset);
  } else if (one.size > 1 && first !== undefined && second !== undefined) {
    changes.fill(PEERS, Math.min(first, second), Math.max(first, second));
  }
}

/** Marks the ranks of groups of one family that are no groups of another. Groups of one rank have no peers. */
function compareFamilies(family: GroupFamily | undefined, other: GroupFamily | undefined, changes: Uint8Array): void {
  if (!family || family.size < 2) {
    return;
  }
  const lists = family.all();
  const others = other?.all();
  const twins = new Int32Array(changes.length).fill(-1);
  for (let index = 0; index < (others?.count ?? 0); index++) {
    twins[others?.ranks[others.starts[index] ?? 0] ?? 0] = index;
  }
  for (let index = 0; index < lists.count; index++) {
    const [start = 0, end = 0] = [lists.starts[index], lists.starts[index + 1]];
    const twin = twins[lists.ranks[start] ?? 0] ?? -1;
    if (end - start > 1 && !(others && twin >= 0 && isSameList(lists, index, others, twin))) {
      for (let at = start; at < end; at++) {
        changes[lists.ranks[at] ?? 0] = PEERS;
      }
    }
  }
}

function isSameList(lists: RankLists, index: number, others: RankLists, twin: number): boolean {
  const [start = 0, end = 0] = [lists.starts[index], lists.starts[index + 1]];
  const [from = 0, to = 0] = [others.starts[twin], others.starts[twin + 1]];
  for (let i = 0; i < end - start; i++) {
    if (lists.ranks[start + i] !== others.ranks[from + i]) {
      return false;
    }
  }
  return end - start === to - from;
}
