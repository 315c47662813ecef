import { type GroupFamily, groupNameOf, processGroups, type ResolvedLayout } from '../../layout';
import { ascending, groupedBy } from '../collections';
import type { RunGroup } from './evidence';
import type { ExplainedDifference, Verification } from './verification';

/** torch's description of the default group, which holds all ranks. */
export const WORLD_DESC = 'default_pg';

/** The description of a group that a log does not name: its members are inferred. */
export const INFERRED_DESC = 'inferred';

/** What the default group is called. */
const WORLD = 'world';

/** The most groups and ranks that one difference lists. */
const MAX_LISTED = 16;
const MAX_RANKS = 4096;

/** Groups of one name that differ from those of the layout: the first 16, and the first 4,096 ranks in ascending order. */
type GroupDifference = Omit<ExplainedDifference, 'cause' | 'line'>;

/** How the groups of a run compare with the layout's, before differences are explained. */
export interface GroupComparison extends Omit<Verification['groups'], 'different'> {
  readonly different: readonly GroupDifference[];
}

/** Finds the groups of a run among the process groups of a layout. */
export class LayoutGroups {
  readonly #families: readonly GroupFamily[];
  readonly #byName: ReadonlyMap<string, readonly GroupFamily[]>;

  /** All ranks. */
  readonly world: readonly number[];

  constructor(readonly layout: ResolvedLayout) {
    this.world = Array.from({ length: layout.worldSize }, (_, rank) => rank);
    this.#families = processGroups(layout);
    this.#byName = groupedBy(this.#families, ({ name }) => name);
  }

  /** The families that a group of the run can belong to: those of its name, or all where it has no name. */
  candidates(group: RunGroup): readonly GroupFamily[] {
    const name = this.nameFor(group.desc);
    return name === null ? this.#families : (this.#byName.get(name) ?? []);
  }

  /** The layout's name for a description: Megatron-LM's, or that of an axis of a device mesh (`mesh_dp_shard`); null for none. */
  nameFor(desc: string): string | null {
    const axis = this.layout.meshes.length > 0 ? /^mesh_(\w{1,64})$/.exec(desc)?.[1] : undefined;
    return axis !== undefined && this.#byName.has(axis) ? axis : groupNameOf(desc);
  }

  /** The families with a group of exactly the ranks of a group of the run. */
  matches(group: RunGroup): GroupFamily[] {
    const [first] = group.ranks;
    if (first === undefined) {
      return [];
    }
    const wanted = ascending(group.ranks);
    return this.candidates(group).filter((family) =>
      groupsAt(family, first).some(
        (ranks) => ranks.length === wanted.length && ranks.every((rank, i) => rank === wanted[i]),
      ),
    );
  }

  /** The families of a label, such as `language.tp`. */
  named(name: string): readonly GroupFamily[] {
    return this.#families.filter((family) => label(family) === name);
  }

  /** The groups of some families that hold any of the given ranks, each once. */
  around(families: readonly GroupFamily[], ranks: readonly number[]): number[][] {
    return families.flatMap((family) => {
      const indices = new Set(ranks.flatMap((rank) => family.indicesOf(rank)));
      return [...indices].slice(0, MAX_LISTED).map((index) => ascending(family.ranks(index)));
    });
  }

  /** The ranks of the group that has a description and holds a rank; null where the layout has none or several. */
  ranksOf(desc: string, rank: number): readonly number[] | null {
    const name = this.nameFor(desc);
    const groups = (this.#byName.get(name ?? '') ?? []).flatMap((family) => groupsAt(family, rank));
    return groups.length === 1 ? (groups[0] ?? null) : null;
  }

  /** The distinct sets of members of all groups of more than one rank that hold a rank, the default group among them. */
  membersAround(rank: number): (readonly number[])[] {
    const { worldSize } = this.layout;
    const groups = this.#families
      .filter(({ size }) => size > 1 && size < worldSize)
      .flatMap((family) => groupsAt(family, rank));
    return [...new Map(groups.map((ranks) => [ranks.join(), ranks])).values(), this.world];
  }

  /** The sizes of groups, each once. */
  get sizes(): number[] {
    return [...new Set(this.#families.map(({ size }) => size))];
  }

  get names(): string[] {
    return [...new Set(this.#families.map(label))];
  }

  /** The layout's name of a group of the run, or else torch's description. */
  nameOf(group: RunGroup): string {
    if (group.desc === WORLD_DESC) {
      return WORLD;
    }
    const families = this.matches(group);
    if (group.desc === INFERRED_DESC) {
      const names = new Set(families.map(label));
      return names.size === 1
        ? [...names].join()
        : `[${group.ranks.slice(0, 8).join(', ')}${group.ranks.length > 8 ? ', ...' : ''}]`;
    }
    const family = families.find(({ size }) => size > 1) ?? families[0];
    return family ? label(family) : (groupNameOf(group.desc) ?? group.desc);
  }
}

/** Compares the groups of a run with those of its layout. */
export function compareGroups(groups: Iterable<RunGroup>, layout: LayoutGroups): GroupComparison {
  const seen = new Set<string>();
  const wrong: { name: string; group: RunGroup }[] = [];
  const unexpected: RunGroup[] = [];
  let equal = 0;
  for (const group of [...groups].filter(({ ranks }) => ranks.length > 0)) {
    const isDefault = group.desc === WORLD_DESC;
    const families = isDefault ? [] : layout.matches(group);
    for (const family of families) {
      seen.add(label(family));
    }
    const [known] = layout.candidates(group);
    if (families.length > 0 || (isDefault && group.ranks.length === layout.layout.worldSize)) {
      equal++;
    } else if (isDefault) {
      wrong.push({ name: WORLD, group });
    } else if (layout.nameFor(group.desc) !== null && known) {
      wrong.push({ name: label(known), group });
    } else if (group.ranks.length > 1) {
      unexpected.push(group);
    }
  }
  const different = differences(wrong, layout);
  return {
    equal,
    different,
    unexpected: [...groupedBy(unexpected, ({ desc }) => groupNameOf(desc) ?? desc)].map(([name, members]) => ({
      name,
      groups: members.slice(0, MAX_LISTED).map(({ ranks }) => ascending(ranks)),
    })),
    not_seen: layout.names.filter((name) => !seen.has(name) && !different.some((one) => one.name === name)),
  };
}

/** A comparison in which unexpected groups without a name are differences, with the names that they have in another layout. */
export function namedBy(
  comparison: GroupComparison,
  groups: readonly RunGroup[],
  layout: LayoutGroups,
  other: LayoutGroups,
): GroupComparison {
  const wrong = groups
    .filter((group) => isUnnamed(group) && group.ranks.length > 1 && layout.matches(group).length === 0)
    .map((group) => ({ name: other.nameOf(group), group }));
  const named = differences(wrong, layout).map((one) => ({
    ...one,
    expected: layout.around(layout.named(one.name), one.ranks).slice(0, MAX_LISTED),
  }));
  return {
    ...comparison,
    unexpected: comparison.unexpected.filter(({ name }) => !UNNAMED.has(name)),
    different: [...comparison.different, ...named],
    not_seen: comparison.not_seen.filter((name) => !named.some((one) => one.name === name)),
  };
}

/** torch's descriptions of a group that the program gives none. */
const UNNAMED: ReadonlySet<string> = new Set(['', 'undefined']);

/** Whether the program gave a group no description, as grids of MIMO do. */
export function isUnnamed({ desc }: RunGroup): boolean {
  return UNNAMED.has(desc);
}

/** One difference for each name. */
function differences(wrong: readonly { name: string; group: RunGroup }[], layout: LayoutGroups): GroupDifference[] {
  return [...groupedBy(wrong, ({ name }) => name)].map(([name, members]) => {
    const groups = members.map(({ group }) => group);
    const ranks = ascending(new Set(groups.flatMap((group) => group.ranks))).slice(0, MAX_RANKS);
    const [first] = groups;
    const expected =
      first && first.desc !== WORLD_DESC
        ? layout.around(layout.candidates(first), ranks)
        : [Array.from({ length: Math.min(layout.layout.worldSize, MAX_RANKS) }, (_, rank) => rank)];
    return {
      name,
      expected: expected.slice(0, MAX_LISTED),
      actual: groups.slice(0, MAX_LISTED).map((group) => ascending(group.ranks)),
      ranks,
    };
  });
}

function label({ name, module }: GroupFamily): string {
  return module === null ? name : `${module}.${name}`;
}

function groupsAt(family: GroupFamily, rank: number): number[][] {
  return family.indicesOf(rank).map((index) => ascending(family.ranks(index)));
}
