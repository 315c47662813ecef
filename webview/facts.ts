import {
  denseGrid,
  expertGrid,
  type GroupFamily,
  processGroups,
  type ResolvedLayout,
  type ResolvedModule,
} from '../layout';
import { formatted } from './dom';

/** One process group of a rank, for the list beside the picture. */
export interface RankGroup {
  readonly name: string;
  readonly module: string | null;
  readonly index: number;
  readonly size: number;
  /** Its ranks; null where there are too many to list while a pointer moves. */
  readonly ranks: readonly number[] | null;
}

/** Groups larger than this are counted, not listed. */
const MAX_LISTED = 16_384;

/** The modules that hold a rank: several where they are colocated. */
export function modulesOf(layout: ResolvedLayout, rank: number): ResolvedModule[] {
  return layout.modules.filter(({ rankOffset, numRanks }) => rank >= rankOffset && rank < rankOffset + numRanks);
}

/** Where a rank stands along every dimension longer than 1: `tp 1`, `pp 0`. */
export function coordinatesOf(module: ResolvedModule, rank: number): string[] {
  const dense = denseGrid(module);
  const expert = expertGrid(module);
  const along = (grid: ReturnType<typeof denseGrid>, name: string) =>
    grid.axes
      .filter((axis) => axis.name === name && axis.size > 1)
      .map((axis) => `${name} ${grid.indexAlong(axis, rank)}`);
  const expertNames = expert.sizeOf('ep') > 1 ? ['ep', 'expt_tp', 'expt_dp'] : [];
  return [
    ...['tp', 'gtp_remat', 'cp', 'pp', 'dp'].flatMap((name) => along(dense, name)),
    ...expertNames.flatMap((name) => along(expert, name)),
  ];
}

/** Every process group of more than one rank that a rank is in, with its peers. */
export function groupsOf(layout: ResolvedLayout, rank: number): RankGroup[] {
  return processGroups(layout)
    .filter(({ size }) => size > 1)
    .flatMap((family) => family.indicesOf(rank).map((index) => rankGroup(family, index)))
    .filter(({ size }) => size > 1);
}

function rankGroup(family: GroupFamily, index: number): RankGroup {
  const { name, module } = family;
  const ranks = family.size > MAX_LISTED ? null : family.ranks(index);
  return { name, module, index, size: ranks?.length ?? family.size, ranks };
}

/** A list of ranks as text, cut where it is long. */
export function rankList(ranks: readonly number[], most = 16): string {
  const shown = ranks.slice(0, most).map(formatted).join(', ');
  return ranks.length > most ? `${shown}, … (${formatted(ranks.length)})` : shown;
}

/** Where a rank lies on the machines: `node 1, GPU 3`. */
export function placeOf({ gpusPerNode }: ResolvedLayout, rank: number): string {
  return `node ${formatted(Math.floor(rank / gpusPerNode))}, GPU ${rank % gpusPerNode}`;
}

/**
 * The rank that a search names: a number, `node:gpu`, or coordinates such as `dp=3 pp=1` (the first that matches);
 * null where there is none.
 */
export function findRank(layout: ResolvedLayout, text: string): number | null {
  const query = text.trim();
  const within = (rank: number) => (rank >= 0 && rank < layout.worldSize ? rank : null);
  if (/^\d+$/.test(query)) {
    return within(Number(query));
  }
  const place = /^(\d+)\s*:\s*(\d+)$/.exec(query);
  if (place) {
    const gpu = Number(place[2]);
    return gpu < layout.gpusPerNode ? within(Number(place[1]) * layout.gpusPerNode + gpu) : null;
  }
  const wanted = [...query.matchAll(/([a-z_]+)\s*[= ]\s*(\d+)/gi)].map(
    ([, name = '', value]) => [name.toLowerCase(), Number(value)] as const,
  );
  const named = layout.modules.find(({ name }) => name !== null && query.toLowerCase().includes(name.toLowerCase()));
  const module =
    named ??
    layout.modules.find((one) => wanted.every(([name]) => denseGrid(one).axes.some((axis) => axis.name === name)));
  if (!module || (wanted.length === 0 && !named)) {
    return null;
  }
  const grid = denseGrid(module);
  const coordinates = grid.axes.map((axis) => wanted.find(([name]) => name === axis.name)?.[1] ?? 0);
  return coordinates.every((index, i) => index < (grid.axes[i]?.size ?? 0)) ? grid.rankAt(coordinates) : null;
}
