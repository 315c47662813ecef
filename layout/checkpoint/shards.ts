import type { Grid } from '../grid/grid';
import { denseGrid, expertGrid } from '../topology/processGroups';
import type { ResolvedModule } from '../topology/resolved';
import type { SavedState } from './savedState';

/** Where the layers of a checkpoint go, as far as that does not depend on ranks. Plain data. */
export interface ShardLinks {
  /** Of each pipeline stage that loads, the stages that saved layers of it. */
  readonly stages: readonly (readonly number[])[];
  /** Whether the model has experts, which lie on a grid of their own. */
  readonly experts: boolean;
}

/** How the stages of two layouts share their layers; null where the layers, or how weights are cut, are not known. */
export function shardLinks(saved: SavedState, now: SavedState): ShardLinks | null {
  if ([saved, now].some(({ gtpRemat, exptGtpRemat }) => gtpRemat > 1 || exptGtpRemat > 1)) {
    return null;
  }
  const experts = saved.experts !== null;
  if (saved.layers === null || now.layers === null) {
    const same = saved.pp === now.pp && saved.vpp === now.vpp;
    return same ? { stages: Array.from({ length: now.pp }, (_, stage) => [stage]), experts } : null;
  }
  const holders = new Map<string, Set<number>>();
  for (const [stage, layers] of saved.layers.entries()) {
    for (const layer of layers) {
      holders.set(layer, (holders.get(layer) ?? new Set()).add(stage));
    }
  }
  const sources = (layers: readonly string[]) => new Set(layers.flatMap((layer) => [...(holders.get(layer) ?? [])]));
  return { stages: now.layers.map((layers) => [...sources(layers)].sort((a, b) => a - b)), experts };
}

/** Which ranks of one layout hold what a rank of another loads, and the other way round. All by arithmetic. */
export class ShardMap {
  readonly #cuts: readonly Cut[];

  constructor(before: ResolvedModule, after: ResolvedModule, { stages, experts }: ShardLinks) {
    const cut = (grids: (module: ResolvedModule) => Grid, names: readonly string[]) =>
      new Cut(grids(before), grids(after), names, stages);
    this.#cuts = [cut(denseGrid, ['tp']), ...(experts ? [cut(expertGrid, ['expt_tp', 'ep'])] : [])];
  }

  /** The ranks that saved what a rank loads, ascending: of equal replicas the first. */
  sourcesOf(rank: number): readonly number[] {
    return ascending(this.#cuts.flatMap((cut) => cut.sourcesOf(rank)));
  }

  /** The ranks that load something of what a rank holds, ascending. */
  readersOf(rank: number): readonly number[] {
    return ascending(this.#cuts.flatMap((cut) => cut.readersOf(rank)));
  }
}

const ascending = (ranks: readonly number[]): number[] => [...new Set(ranks)].sort((a, b) => a - b);

/** The weights that one grid cuts: over the named dimensions, and by layers over `pp`. */
class Cut {
  constructor(
    readonly before: Grid,
    readonly after: Grid,
    readonly names: readonly string[],
    readonly stages: readonly (readonly number[])[],
  ) {}

  sourcesOf(rank: number): number[] {
    const places = this.names.map((name) =>
      overlapping(this.after.placeAlong(name, rank), this.after.sizeOf(name), this.before.sizeOf(name)),
    );
    return this.after.has(rank)
      ? ranksAt(this.before, [...this.names, 'pp'], [...places, this.stages[this.after.placeAlong('pp', rank)] ?? []])
      : [];
  }

  readersOf(rank: number): number[] {
    const places = this.names.map((name) =>
      overlapping(this.before.placeAlong(name, rank), this.before.sizeOf(name), this.after.sizeOf(name)),
    );
    const stage = this.before.placeAlong('pp', rank);
    const readers = this.stages.flatMap((sources, reader) => (sources.includes(stage) ? [reader] : []));
    const cut = [...this.names, 'pp'];
    const replicas = this.after.groups(this.after.axes.map(({ name }) => name).filter((name) => !cut.includes(name)));
    return this.before.has(rank)
      ? ranksAt(this.after, cut, [...places, readers]).flatMap((first) => replicas.ranks(replicas.groupOf(first)))
      : [];
  }
}

/** Of a whole in `to` equal parts those that meet one of `from` equal parts. */
function overlapping(part: number, from: number, to: number): number[] {
  const first = Math.floor((part * to) / from);
  const end = Math.ceil(((part + 1) * to) / from);
  return Array.from({ length: end - first }, (_, i) => first + i);
}

/** The first ranks at all combinations of places along some dimensions. */
function ranksAt(grid: Grid, names: readonly string[], places: readonly (readonly number[])[]): number[] {
  return names.reduce<number[]>(
    (ranks, name, i) =>
      ranks.flatMap((rank) =>
        (places[i] ?? []).map((place) => rank + place * (grid.axes.find((axis) => axis.name === name)?.stride ?? 0)),
      ),
    [grid.offset],
  );
}
