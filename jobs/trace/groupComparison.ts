import { type GroupFamily, groupNameOf, processGroups, type ResolvedLayout } from '../../layout';
import type { RunGroup } from './evidence';

/** torch's description of the group of all ranks. */
export const WORLD_DESC = 'default_pg';

/** How many groups, and how many ranks, of one difference are listed. */
const MAX_LISTED = 16;
const MAX_RANKS = 4096;

/** Groups of one name that are not those of the layout. */
export interface GroupDifference {
  /** The layout's name, with the module in front where there are modules: `language.tp`. */
  readonly name: string;
  /** The layout's groups that hold the ranks concerned; the first 16. */
  readonly expected: readonly (readonly number[])[];
  /** The run's groups in their place; the first 16. */
  readonly actual: readonly (readonly number[])[];
  /** The ranks concerned, ascending; the first 4,096. */
  readonly ranks: readonly number[];
}

/** Groups of the run that the layout has no name or no place for. */
export interface UnexpectedGroups {
  readonly name: string;
  readonly groups: readonly (readonly number[])[];
}

export interface GroupComparison {
  /** How many groups of the run are groups of the layout. */
  readonly equal: number;
  readonly different: readonly GroupDifference[];
  readonly unexpected: readonly UnexpectedGroups[];
  /** Names of the layout of which the run shows no group: their communicators were not made yet, or not at all. */
  readonly not_seen: readonly string[];
}

/** The process groups of a layout, to find those of a run among. */
export class LayoutGroups {
  readonly #families: readonly GroupFamily[];
  readonly #byName: ReadonlyMap<string, readonly GroupFamily[]>;

  constructor(readonly layout: ResolvedLayout) {
    this.#families = processGroups(layout);
    const byName = new Map<string, GroupFamily[]>();
    for (const family of this.#families) {
      add(byName, family.name, family);
    }
    this.#byName = byName;
  }

  /** The families that a group of the run can belong to: those of its name, or all where it has none. */
  candidates(group: RunGroup): readonly GroupFamily[] {
    const name = groupNameOf(group.desc);
    return name === null ? this.#families : (this.#byName.get(name) ?? []);
  }

  /** The families that hold exactly the ranks of a group of the run. */
  matches(group: RunGroup): GroupFamily[] {
    const [first] = group.ranks;
    if (first === undefined) {
      return [];
    }
    const wanted = sorted(group.ranks);
    return this.candidates(group).filter((family) => groupsAt(family, first).some((ranks) => same(ranks, wanted)));
  }

  /** The families of a label, such as `language.tp`. */
  named(name: string): readonly GroupFamily[] {
    return this.#families.filter((family) => label(family) === name);
  }

  /** The layout's groups of some families that hold any of the given ranks, each once. */
  around(families: readonly GroupFamily[], ranks: readonly number[]): number[][] {
    return families.flatMap((family) => {
      const indices = new Set(ranks.flatMap((rank) => family.indicesOf(rank)));
      return [...indices].slice(0, MAX_LISTED).map((index) => sorted(family.ranks(index)));
    });
  }

  /** The ranks of the group of a name that holds a rank; null where the layout has none or several. */
  ranksOf(desc: string, rank: number): readonly number[] | null {
    const name = groupNameOf(desc);
    const groups = (this.#byName.get(name ?? '') ?? []).flatMap((family) => groupsAt(family, rank));
    return groups.length === 1 ? (groups[0] ?? null) : null;
  }

  get names(): string[] {
    return [...new Set(this.#families.map(label))];
  }

  /** What a group of the run is called: the layout's name of it, or torch's description. */
  nameOf(group: RunGroup): string {
    const families = this.matches(group);
    const family = families.find(({ size }) => size > 1) ?? families[0];
    return family ? label(family) : (groupNameOf(group.desc) ?? group.desc);
  }
}

/** Compares the groups that a run has made with those of its layout. */
export function compareGroups(groups: Iterable<RunGroup>, layout: LayoutGroups): GroupComparison {
  const seen = new Set<string>();
  const wrong = new Map<string, RunGroup[]>();
  const unexpected = new Map<string, RunGroup[]>();
  let equal = 0;
  for (const group of groups) {
    const families = isWorld(group, layout) ? [] : layout.matches(group);
    if (group.ranks.length === 0) {
      continue;
    }
    for (const family of families) {
      seen.add(label(family));
    }
    const known = layout.candidates(group);
    if (families.length > 0 || isWorld(group, layout)) {
      equal++;
    } else if (group.desc === WORLD_DESC || (groupNameOf(group.desc) !== null && known.length > 0)) {
      // torch's own group of all ranks has no family
      add(wrong, known[0] && group.desc !== WORLD_DESC ? label(known[0]) : 'world', group);
    } else if (group.ranks.length > 1) {
      add(unexpected, groupNameOf(group.desc) ?? group.desc, group);
    }
  }
  return {
    equal,
    different: [...wrong].map(([name, members]) => difference(name, members, layout)),
    unexpected: [...unexpected].map(([name, members]) => ({
      name,
      groups: members.slice(0, MAX_LISTED).map(({ ranks }) => sorted(ranks)),
    })),
    not_seen: layout.names.filter((name) => !seen.has(name) && !wrong.has(name)),
  };
}

/**
 * A comparison in which groups without a name that the layout does not have are differences: of the names that they have in
 * another layout, which gives all groups of the run.
 */
export function namedBy(
  comparison: GroupComparison,
  groups: Iterable<RunGroup>,
  layout: LayoutGroups,
  other: LayoutGroups,
): GroupComparison {
  const wrong = new Map<string, RunGroup[]>();
  for (const group of groups) {
    if (isUnnamed(group) && group.ranks.length > 1 && layout.matches(group).length === 0) {
      add(wrong, other.nameOf(group), group);
    }
  }
  return {
    ...comparison,
    unexpected: comparison.unexpected.filter(({ name }) => !UNNAMED.has(name)),
    different: [
      ...comparison.different,
      ...[...wrong].map(([name, members]) => ({
        ...difference(name, members, layout),
        expected: layout
          .around(layout.named(name), [...new Set(members.flatMap(({ ranks }) => ranks))])
          .slice(0, MAX_LISTED),
      })),
    ],
  };
}

/** What torch says of a group that the program gives no description. */
const UNNAMED: ReadonlySet<string> = new Set(['', 'undefined']);

/** Whether a program gives a group no description, as grids of MIMO do. */
export function isUnnamed({ desc }: RunGroup): boolean {
  return UNNAMED.has(desc);
}

/** Whether a group is torch's group of all ranks, and of as many as the layout has. */
function isWorld(group: RunGroup, { layout }: LayoutGroups): boolean {
  return group.desc === WORLD_DESC && group.ranks.length === layout.worldSize;
}

function difference(name: string, groups: readonly RunGroup[], layout: LayoutGroups): GroupDifference {
  const ranks = [...new Set(groups.flatMap((group) => group.ranks))].sort((a, b) => a - b);
  const [first] = groups;
  const expected =
    first && first.desc !== WORLD_DESC
      ? layout.around(layout.candidates(first), ranks.slice(0, MAX_RANKS))
      : [Array.from({ length: Math.min(layout.layout.worldSize, MAX_RANKS) }, (_, rank) => rank)];
  return {
    name,
    expected: expected.slice(0, MAX_LISTED),
    actual: groups.slice(0, MAX_LISTED).map((group) => sorted(group.ranks)),
    ranks: ranks.slice(0, MAX_RANKS),
  };
}

function label({ name, module }: GroupFamily): string {
  return module === null ? name : `${module}.${name}`;
}

function groupsAt(family: GroupFamily, rank: number): number[][] {
  return family.indicesOf(rank).map((index) => sorted(family.ranks(index)));
}

function sorted(ranks: readonly number[]): number[] {
  return [...ranks].sort((a, b) => a - b);
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((rank, i) => rank === b[i]);
}

function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) {
    list.push(value);
  } else {
    map.set(key, [value]);
  }
}
