import {
  divisors,
  type GridPlacement,
  groupAlong,
  groupNameOf,
  placedLayout,
  placementOf,
  type ResolvedLayout,
} from '../../layout';
import type { RunGroup } from './evidence';
import { LayoutGroups, WORLD_DESC } from './groupComparison';

/** The most placements that are tried, and the number of groups that each is first tried on. */
const MAX_TRIED = 20_000;
const MAX_PROBES = 64;

/** The most sizes of one degree that are tried, the smallest first. */
const MAX_SIZES = 24;

/** A change to the layout that gives the groups of the run. */
export interface Cause {
  /** The change in the words of a layout file: `order tp-cp-ep-pp-dp`, `tp 4 instead of 2`. */
  readonly text: string;
  /** The key of the layout file, and its module; null for `parallelism`. */
  readonly key: string;
  readonly module: string | null;
  /** The layout with that change. */
  readonly layout: ResolvedLayout;
}

/**
 * The smallest change to a layout that gives the groups of a run: another order, other degrees, other offsets of modules. Null for
 * none.
 */
export function causeOf(groups: readonly RunGroup[], layout: ResolvedLayout): Cause | null {
  const compared = groups.filter(({ desc, ranks }) => desc !== WORLD_DESC && ranks.length > 0);
  const base = layout.modules.map(placementOf);
  let tried = 0;
  for (const placements of alternatives(base, compared, layout)) {
    if (++tried > MAX_TRIED) {
      return null;
    }
    const other = placedLayout(layout, placements);
    const cause = other && describe(base, placements, layout, other);
    if (cause && fits(new LayoutGroups(cause.layout), compared)) {
      return cause;
    }
  }
  return null;
}

function fits(layout: LayoutGroups, groups: readonly RunGroup[]): boolean {
  const probes = groups.length > MAX_PROBES ? spread(groups, MAX_PROBES) : groups;
  const matched = (group: RunGroup) => layout.matches(group).length > 0;
  return probes.every(matched) && (probes === groups || groups.every(matched));
}

/** Items at even distances. */
function spread<T>(all: readonly T[], count: number): T[] {
  return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)] as T);
}

/** Other placements, the smallest changes first. */
function* alternatives(
  base: readonly GridPlacement[],
  groups: readonly RunGroup[],
  layout: ResolvedLayout,
): Iterable<readonly GridPlacement[]> {
  const [only] = base;
  if (layout.mode === 'homogeneous' && only) {
    yield* orders(only).map((placement) => [placement]);
    for (const degrees of degreesSeen(only, groups, layout.worldSize)) {
      yield* [degrees, ...orders(degrees)].map((placement) => [placement]);
    }
    return;
  }
  yield* moved(base, layout);
  for (const [i, placement] of base.entries()) {
    const size = layout.modules[i]?.numRanks ?? 1;
    for (const other of exchanged(placement, size)) {
      yield base.map((own, at) => (at === i ? other : own));
    }
  }
}

/** The other orders of the same dimensions, those with the fewest inversions first. */
function orders(placement: GridPlacement): GridPlacement[] {
  const written = placement.order?.split('-') ?? [];
  return permutations(written)
    .map((order) => ({ order, exchanges: inversions(order, written) }))
    .filter(({ exchanges }) => exchanges > 0)
    .sort((a, b) => a.exchanges - b.exchanges)
    .map(({ order }) => ({ ...placement, order: order.join('-') }));
}

function permutations(items: readonly string[]): string[][] {
  return items.length <= 1
    ? [[...items]]
    : items.flatMap((item, i) => permutations(items.filter((_, at) => at !== i)).map((rest) => [item, ...rest]));
}

/** The number of pairs in the opposite order. */
function inversions(order: readonly string[], written: readonly string[]): number {
  const places = order.map((name) => written.indexOf(name));
  return places.reduce((sum, place, i) => sum + places.slice(i + 1).filter((later) => later < place).length, 0);
}

/** The degrees of a placement with their keys in a layout file. */
const DEGREES = {
  tp: 'tp',
  cp: 'cp',
  pp: 'pp',
  gtpRemat: 'gtp_remat',
  ep: 'ep',
  exptTp: 'expt_tp',
  exptGtpRemat: 'expt_gtp_remat',
} as const;

/** The degree that equals the size of the groups of a name. */
const SIZE_OF: ReadonlyMap<string, keyof typeof DEGREES> = new Map(
  (Object.keys(DEGREES) as (keyof typeof DEGREES)[]).map((degree) => [groupAlong(DEGREES[degree]), degree]),
);

/** The keys of a layout file. */
const KEYS: Readonly<Record<string, string>> = { ...DEGREES, rankOffset: 'rank_offset' };

/** Degrees that agree with the sizes of the groups; every divisor for a degree without groups. */
function degreesSeen(base: GridPlacement, groups: readonly RunGroup[], worldSize: number): GridPlacement[] {
  const seen = new Map<string, number>();
  for (const { desc, ranks } of groups) {
    seen.set(groupNameOf(desc) ?? '', ranks.length);
  }
  const known = Object.fromEntries(
    [...SIZE_OF].flatMap(([name, key]) => (seen.has(name) ? [[key, seen.get(name) ?? 1]] : [])),
  ) as Partial<GridPlacement>;
  const start = { ...base, ...known };
  let candidates: GridPlacement[] = [start];
  for (const key of (['tp', 'cp', 'pp'] as const).filter((degree) => known[degree] === undefined)) {
    candidates = candidates
      .flatMap((placement) =>
        divisors(worldSize)
          .slice(0, MAX_SIZES)
          .map((size) => ({ ...placement, [key]: size })),
      )
      .filter(({ tp, cp, pp, gtpRemat }) => worldSize % (tp * cp * pp * gtpRemat) === 0);
  }
  const dp = seen.get('dp');
  return candidates
    .filter(({ tp, cp, pp, gtpRemat }) => dp === undefined || tp * cp * pp * gtpRemat * dp === worldSize)
    .map((placement) => withExperts(placement, base, known, worldSize))
    .sort((a, b) => changes(base, a) - changes(base, b))
    .slice(0, 150);
}

/** Expert degrees without groups take their defaults: `expt_tp` is `tp` unless written, and an `ep` that does not divide is 1. */
function withExperts(
  placement: GridPlacement,
  base: GridPlacement,
  known: Partial<GridPlacement>,
  worldSize: number,
): GridPlacement {
  const exptTp = known.exptTp ?? (base.exptTp === base.tp ? placement.tp : base.exptTp);
  const divides = worldSize % (exptTp * placement.exptGtpRemat * placement.ep * placement.pp) === 0;
  return divides ? { ...placement, exptTp } : { ...placement, exptTp, ep: known.ep ?? 1 };
}

function changes(base: GridPlacement, other: GridPlacement): number {
  return [...SIZE_OF.values()].filter((key) => base[key] !== other[key]).length;
}

/** The modules of a job without shared ranks in every other order. */
function* moved(base: readonly GridPlacement[], layout: ResolvedLayout): Iterable<readonly GridPlacement[]> {
  if (layout.mode !== 'non_colocated' || base.length > 5) {
    return;
  }
  for (const order of permutations(base.map((_, i) => String(i)))) {
    const starts = new Map<number, number>();
    let start = 0;
    for (const index of order.map(Number)) {
      starts.set(index, start);
      start += layout.modules[index]?.numRanks ?? 0;
    }
    yield base.map((placement, i) => ({ ...placement, rankOffset: starts.get(i) ?? placement.rankOffset }));
  }
}

/** Other degrees of one of `modules` over the same ranks. */
function exchanged(base: GridPlacement, size: number): GridPlacement[] {
  const sizes = divisors(size).slice(0, MAX_SIZES);
  const dense = sizes.flatMap((tp) =>
    sizes.flatMap((cp) => sizes.flatMap((pp) => (size % (tp * cp * pp) === 0 ? [{ ...base, tp, cp, pp }] : []))),
  );
  const all = [...dense, ...dense.flatMap((placement) => sizes.map((ep) => ({ ...placement, ep })))];
  return all
    .filter((placement) => changes(base, placement) > 0)
    .sort((a, b) => changes(base, a) - changes(base, b))
    .slice(0, 2000);
}

function describe(
  base: readonly GridPlacement[],
  placements: readonly GridPlacement[],
  layout: ResolvedLayout,
  other: ResolvedLayout,
): Cause | null {
  const found = placements.flatMap((placement, i) => {
    const own = base[i];
    const module = layout.modules[i]?.name ?? null;
    const of = module === null ? '' : `${module}: `;
    if (!own) {
      return [];
    }
    const keys = Object.entries(KEYS).filter(
      ([key]) => own[key as keyof GridPlacement] !== placement[key as keyof GridPlacement],
    );
    return [
      ...keys.map(([key, name]) => ({
        text: `${of}${name} ${placement[key as keyof GridPlacement]} instead of ${own[key as keyof GridPlacement]}`,
        key: name,
        module,
      })),
      ...(own.order === placement.order ? [] : [{ text: `${of}order ${placement.order}`, key: 'order', module }]),
    ];
  });
  const [first] = found;
  return first ? { ...first, layout: other, text: found.map(({ text }) => text).join(', ') } : null;
}
