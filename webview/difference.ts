import type { GroupFamily, ResolvedLayout, ResolvedModule } from '../layout';
import { valuesOf } from './colour';
import { colouringBy } from './colourings';
import { familiesOf } from './facts';

/** How a rank of one layout stands in another; the worst last. */
export const CHANGES = ['same', 'peers', 'coordinates', 'absent'] as const;
export type Change = (typeof CHANGES)[number];

/** What two layouts have that the other has not. */
export class Difference {
  /** The ranks that differ, ascending: those of the larger world. */
  readonly ranks: readonly number[];

  /** @param changes of every rank of the larger world its place in `CHANGES` */
  constructor(readonly changes: Uint8Array) {
    const ranks: number[] = [];
    for (let rank = 0; rank < changes.length; rank++) {
      if (changes[rank] !== 0) {
        ranks.push(rank);
      }
    }
    this.ranks = ranks;
  }

  changeOf(rank: number): Change {
    return CHANGES[this.changes[rank] ?? 0] ?? 'same';
  }

  count(change: Change): number {
    const wanted = CHANGES.indexOf(change);
    return this.changes.reduce((n, one) => n + (one === wanted ? 1 : 0), 0);
  }
}

/** Finds the ranks whose coordinates or whose peers in any process group differ between two layouts. */
export function differenceOf(before: ResolvedLayout, after: ResolvedLayout): Difference {
  const changes = new Uint8Array(Math.max(before.worldSize, after.worldSize));
  const raise = (rank: number, change: Change) => {
    changes[rank] = Math.max(changes[rank] ?? 0, CHANGES.indexOf(change));
  };
  if (formOf(before) !== formOf(after)) {
    comparePeers(before, after, raise);
    compareCoordinates(before, after, raise);
    for (let rank = Math.min(before.worldSize, after.worldSize); rank < changes.length; rank++) {
      raise(rank, 'absent');
    }
  }
  return new Difference(changes);
}

type Raise = (rank: number, change: Change) => void;

/** All that coordinates and groups follow from. */
function formOf({ modules, mode, worldSize, optimizerInstances, ntp, ...rest }: ResolvedLayout): string {
  const { hierarchicalContextParallelSizes, allGatherGroup, expertAllGatherGroup } = rest;
  const more = [hierarchicalContextParallelSizes, allGatherGroup, expertAllGatherGroup];
  return JSON.stringify([modules, mode, worldSize, optimizerInstances, ntp, more]);
}

function compareCoordinates(before: ResolvedLayout, after: ResolvedLayout, raise: Raise): void {
  const shared = Math.min(before.worldSize, after.worldSize);
  for (const name of new Set([...before.modules, ...after.modules].map((module) => module.name))) {
    const [one, other] = [before, after].map((layout) => only(layout, name));
    const dims = [one, other].flatMap((layout) => layout?.modules ?? []).flatMap(dimsOf);
    for (const dim of new Set(dims)) {
      const [a, b] = [one, other].map((layout) => layout && valuesOf(colouringBy(layout, dim), layout.worldSize));
      for (let rank = 0; rank < shared; rank++) {
        if ((a?.[rank] ?? -1) !== (b?.[rank] ?? -1)) {
          raise(rank, 'coordinates');
        }
      }
    }
  }
}

/** The layout with one module only, since modules may share ranks; null where it has no such module. */
function only(layout: ResolvedLayout, name: string | null): ResolvedLayout | null {
  const modules = layout.modules.filter((module) => module.name === name);
  return modules.length > 0 ? { ...layout, modules } : null;
}

const dimsOf = ({ dense, expert }: ResolvedModule): string[] => [...dense, ...expert].map(({ name }) => name);

function comparePeers(before: ResolvedLayout, after: ResolvedLayout, raise: Raise): void {
  const keyOf = ({ name, module }: GroupFamily) => `${module ?? ''}/${name}`;
  const [one, other] = [before, after].map(
    (layout) => new Map(familiesOf(layout).map((family) => [keyOf(family), family])),
  );
  for (const key of new Set([...(one?.keys() ?? []), ...(other?.keys() ?? [])])) {
    const [a, b] = [one?.get(key), other?.get(key)];
    // the levels of hierarchical groups follow from the groups that they cut and from the sizes of the levels
    const levels = a?.name === 'hcp' && b?.name === 'hcp';
    const sizes = (layout: ResolvedLayout) => String(layout.hierarchicalContextParallelSizes);
    if (!levels || sizes(before) !== sizes(after)) {
      compareFamilies(a, levels ? undefined : b, raise);
      compareFamilies(b, levels ? undefined : a, raise);
    }
  }
}

/** Raises the ranks of groups of one family that are no groups of another. Groups of one rank have no peers. */
function compareFamilies(family: GroupFamily | undefined, other: GroupFamily | undefined, raise: Raise): void {
  if (!family || family.size < 2) {
    return;
  }
  const groups = family.all();
  const others = other?.all();
  const groupOf = new Map<number, Int32Array>();
  for (const ranks of others ?? []) {
    groupOf.set(ranks[0] ?? -1, ranks);
  }
  for (const ranks of groups) {
    const twin = groupOf.get(ranks[0] ?? -1);
    const same = twin?.length === ranks.length && ranks.every((rank, i) => rank === twin[i]);
    if (!same && ranks.length > 1) {
      for (const rank of ranks) {
        raise(rank, 'peers');
      }
    }
  }
}
