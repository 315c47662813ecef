import { type Axis, denseGrid, expertGrid, type Grid, type ResolvedLayout, type ResolvedModule } from '../layout';
import { numberingOf } from './numbering';

/** The ranks that a search names, by arithmetic: however many, none is listed. */
export interface Matches {
  readonly count: number;
  rankAt(index: number): number;
}

/** Words that stand for ranks in a condition: `failed`, `differs`, ... */
export type Conditions = Readonly<Record<string, readonly number[]>>;

/**
 * Reads a search: a rank (`5`), a GPU of a node (`0:5`), coordinates (`dp=3 pp=1`, with a module's name where modules
 * differ), or a word for ranks in a condition (`failed`).
 * @returns null where it names no rank
 */
export function findRanks(layout: ResolvedLayout, text: string, conditions: Conditions): Matches | null {
  const query = text.trim().toLowerCase();
  const only = (rank: number) => listed(rank >= 0 && rank < layout.worldSize ? [rank] : []);
  if (/^\d+$/.test(query)) {
    return only(Number(query));
  }
  const place = /^(\d+)\s*:\s*(\d+)$/.exec(query);
  if (place) {
    const [node, gpu] = [Number(place[1]), Number(place[2])];
    return gpu < layout.gpusPerNode ? only(node * layout.gpusPerNode + gpu) : null;
  }
  const words = conditions[query];
  return words ? listed(words) : byCoordinates(layout, query);
}

const listed = (ranks: readonly number[]): Matches | null =>
  ranks.length > 0 ? { count: ranks.length, rankAt: (i) => ranks[i] ?? 0 } : null;

function byCoordinates(layout: ResolvedLayout, query: string): Matches | null {
  const wanted = [...query.matchAll(/([a-z_]+)\s*[= ]\s*(\d+)/g)].map(
    ([, name = '', value]) => [name, Number(value)] as const,
  );
  const words = query.replaceAll(/([a-z_]+)\s*[= ]\s*(\d+)/g, ' ').split(/[\s,]+/);
  const named = layout.modules.filter(({ name }) => name !== null && words.includes(name.toLowerCase()));
  if (wanted.length === 0 && named.length === 0) {
    return null;
  }
  const modules = named.length > 0 ? named : layout.modules;
  return joined(modules.flatMap((module) => inModule(layout, module, wanted) ?? []));
}

function joined(parts: readonly Matches[]): Matches | null {
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const rankAt = (index: number): number => {
    let rest = index;
    for (const part of parts) {
      if (rest < part.count) {
        return part.rankAt(rest);
      }
      rest -= part.count;
    }
    return -1;
  };
  return count > 0 ? { count, rankAt } : null;
}

/** The part of a module's grid that has the wanted coordinates; null where it has no such dimension or index. */
function inModule(
  layout: ResolvedLayout,
  module: ResolvedModule,
  wanted: readonly (readonly [name: string, value: number])[],
): Matches | null {
  const has = ({ axes }: Grid) =>
    wanted.every(([name, value]) => axes.some((axis) => axis.name === name && value < axis.size));
  const grid = [denseGrid(module), expertGrid(module)].find(has);
  if (!grid) {
    return null;
  }
  const axis = (name: string): Axis | undefined => grid.axes.find((one) => one.name === name);
  const base = wanted.reduce((sum, [name, value]) => sum + value * (axis(name)?.stride ?? 0), 0);
  const free = grid.groups(grid.axes.map(({ name }) => name).filter((name) => !wanted.some(([one]) => one === name)));
  const numbering = numberingOf(layout);
  if (!numbering) {
    return { count: free.size, rankAt: (i) => free.rankAt(0, i) + base };
  }
  // packed placement leaves places out, so that the rest has to be looked at one by one
  const ranks = free.ranks(0).map((place) => numbering.rankAt(place + base));
  return listed(ranks.filter((rank) => rank >= 0));
}
