import {
  type Axis,
  denseGrid,
  expertGrid,
  type Grid,
  type GroupFamily,
  type GroupName,
  grouped,
  joinedAxes,
  memoize,
  processGroups,
  type ResolvedLayout,
  type ResolvedModule,
} from '../layout';
import { numberingOf } from './numbering';

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
const MAX_LISTED = 4096;

/** The families of process groups of a layout, worked out once. */
export const familiesOf = memoize(processGroups);

const familyOf = (layout: ResolvedLayout, module: string | null, name: string): GroupFamily | undefined =>
  familiesOf(layout).find((family) => family.name === name && family.module === module);

/** The names of the process groups that hold more than one rank. */
export const groupNames = (layout: ResolvedLayout): string[] => [
  ...new Set(familiesOf(layout).flatMap(({ name, size }) => (size > 1 ? name : []))),
];

/** On how many machines of `gpus` neighbouring ranks some ranks lie. */
export function nodesOf(ranks: ArrayLike<number>, gpus: number): number {
  let count = 0;
  let last = -1;
  for (let i = 0; i < ranks.length; i++) {
    const node = Math.floor((ranks[i] ?? 0) / gpus);
    if (node < last) {
      return new Set(Array.from(ranks, (rank) => Math.floor(rank / gpus))).size;
    }
    count += node === last ? 0 : 1;
    last = node;
  }
  return count;
}

/** The modules that hold a rank: several where they are colocated. */
export function modulesOf(layout: ResolvedLayout, rank: number): ResolvedModule[] {
  return layout.modules.filter(({ rankOffset, numRanks }) => rank >= rankOffset && rank < rankOffset + numRanks);
}

/** The grids of a module: that of its dense layers, then that of its experts. */
export const gridsOf = (module: ResolvedModule): readonly [Grid, Grid] => [denseGrid(module), expertGrid(module)];

/** The dimension of a name in the first grid of a module that has it; null where none has. */
export function axisNamed(module: ResolvedModule, name: string): { readonly grid: Grid; readonly axis: Axis } | null {
  for (const grid of gridsOf(module)) {
    const axis = grid.axes.find((one) => one.name === name);
    if (axis) {
      return { grid, axis };
    }
  }
  return null;
}

/** The coordinates of a rank along every dimension longer than 1: `tp 1`, `pp 0`. */
export function coordinatesOf(layout: ResolvedLayout, module: ResolvedModule, rank: number): string[] {
  const place = numberingOf(layout)?.placeOf(rank) ?? rank;
  const [dense, expert] = gridsOf(module);
  const along = (grid: Grid, name: string) =>
    grid.axes
      .filter((axis) => axis.name === name && axis.size > 1)
      .map((axis) => `${name} ${grid.indexAlong(axis, place)}`);
  const expertNames = expert.sizeOf('ep') > 1 ? ['ep', 'expt_tp', 'expt_gtp_remat', 'expt_dp'] : [];
  return [
    ...['tp', 'gtp_remat', 'cp', 'pp', 'dp'].flatMap((name) => along(dense, name)),
    ...expertNames.flatMap((name) => along(expert, name)),
  ];
}

/** The module and the coordinates of a rank in one line, or that it is in no module. */
export function coordinatesText(layout: ResolvedLayout, rank: number): string {
  const modules = modulesOf(layout, rank).map((module) =>
    [module.name ?? '', coordinatesOf(layout, module, rank).join(', ')].filter(Boolean).join(' '),
  );
  return modules.join('; ') || (rank < layout.worldSize ? 'in no module' : 'not in the world');
}

/** The process groups of more than one rank that a rank is in: those of one name, or all. */
export const groupsNamed = (layout: ResolvedLayout, rank: number, name?: string): RankGroup[] =>
  familiesOf(layout)
    .filter((family) => family.size > 1 && (name === undefined || family.name === name))
    .flatMap((family) => family.indicesOf(rank).map((index) => rankGroup(family, index)))
    .filter(({ size }) => size > 1);

/** Groups of a rank that have the same ranks, under all of their names. */
export interface MergedGroup extends RankGroup {
  /** Megatron's names of the group, the shortest first. */
  readonly names: readonly string[];
  /** On how many nodes its ranks lie; null where there are too many to look at while a pointer moves. */
  readonly nodes: number | null;
}

/** The kinds of groups that people ask for first, the tightest first. */
export const USUAL_GROUPS: readonly GroupName[] = ['tp', 'cp', 'ep', 'pp', 'dp'];

/** The place of a kind of groups in a list. */
export function kindOrder(name: string): number {
  const all: readonly string[] = [...USUAL_GROUPS, 'dp_cp', 'ep_dp', 'mp'];
  return all.includes(name) ? all.indexOf(name) : all.length;
}

/** The process groups of a rank, each once with all of its names. */
export function mergedGroups(layout: ResolvedLayout, rank: number): MergedGroup[] {
  const merged = new Map<string, RankGroup[]>();
  const groups = groupsNamed(layout, rank).sort(
    (a, b) => kindOrder(a.name) - kindOrder(b.name) || a.name.length - b.name.length,
  );
  for (const group of groups) {
    const key = `${group.module}/${group.ranks ? group.ranks.join() : stepsOf(layout, group)}`;
    merged.set(key, [...(merged.get(key) ?? []), group]);
  }
  return [...merged.values()]
    .flatMap(([first, ...others]) => {
      const names = [...new Set([first, ...others].flatMap((group) => group?.name ?? []))];
      return first ? [{ ...first, names, nodes: first.ranks && nodesOf(first.ranks, layout.gpusPerNode) }] : [];
    })
    .sort((a, b) => kindOrder(a.name) - kindOrder(b.name) || a.size - b.size);
}

/** What the ranks of a group follow from that is too large to be listed: groups of the same steps are the same. */
function stepsOf(layout: ResolvedLayout, { module, name, index }: RankGroup): string {
  const grid = familyOf(layout, module, name)?.grid;
  return grid ? JSON.stringify([grid.rankAt(index, 0), joinedAxes(grid.steps)]) : name;
}

/** A kind of process groups of one module, under all names that have the same groups. */
export interface NamedFamily {
  readonly module: string | null;
  readonly names: readonly string[];
  readonly family: GroupFamily;
}

/**
 * The kinds of process groups that the first rank of a module is in. Groups of a kind are one another shifted, so kinds are the same
 * where as many groups of as many ranks begin with the same one.
 */
export const namedFamilies = (layout: ResolvedLayout, module: ResolvedModule): NamedFamily[] =>
  mergedGroups(layout, module.rankOffset)
    .filter((group) => group.module === module.name)
    .flatMap(({ names, module: owner }) => {
      const families = names.flatMap((name) => familyOf(layout, owner, name) ?? []);
      const shapeOf = ({ count, size }: GroupFamily) => `${count} x ${size}`;
      return [...new Set(families.map(shapeOf))].flatMap((shape) => {
        const same = families.filter((family) => shapeOf(family) === shape);
        const [family] = same;
        return family ? [{ module: owner, names: same.map(({ name }) => name), family }] : [];
      });
    });

/** The kinds of process groups of all modules, each once with all of its names. */
export const kindsOf = memoize((layout: ResolvedLayout): readonly NamedFamily[] =>
  layout.modules.flatMap((module) => namedFamilies(layout, module)),
);

function rankGroup(family: GroupFamily, index: number): RankGroup {
  const { name, module } = family;
  const ranks = family.size > MAX_LISTED ? null : family.ranks(index);
  return { name, module, index, size: ranks?.length ?? family.size, ranks };
}

/** All ranks of a group, however many. */
export const ranksOfGroup = (
  layout: ResolvedLayout,
  { name, module, index }: Omit<RankGroup, 'ranks' | 'size'>,
): number[] => familyOf(layout, module, name)?.ranks(index) ?? [];

/** Where a rank lies on the machines: `node 1, GPU 3`. */
export function placeOf({ gpusPerNode }: ResolvedLayout, rank: number): string {
  return `node ${grouped(Math.floor(rank / gpusPerNode))}, GPU ${rank % gpusPerNode}`;
}
