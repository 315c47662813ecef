import {
  type GroupFamily,
  grouped,
  groupKind,
  isPacked,
  type LayoutFacts,
  LineIndex,
  processGroups,
  type ResolvedLayout,
  replacementGroups,
  sequencePlans,
  sequenceShares,
  spareRanks,
  type TokenRange,
} from '../layout';
import { EnvironmentError } from './environmentError';

/** Version of the plan that `smoke/protocol.py` reads. */
const PLAN_VERSION = 1;

/** The defaults of the layout's `smoke` section. */
const DEFAULTS = { checks: ['groups', 'collectives'], iterations: 5, timeout: 60 } as const;

/** The default payload of a timed collective in bytes; gloo shows correctness, not speed. */
const DEFAULT_PAYLOAD = { nccl: 64 * 2 ** 20, gloo: 2 ** 20 } as const;

/** The payloads of the check `bandwidth` in bytes. */
const SWEEP = [2 ** 20, 16 * 2 ** 20, 64 * 2 ** 20] as const;

/**
 * The most members that all groups may have together. Every rank reads the plan, about seven bytes a member: twice the groups of
 * 131,072 ranks of a mixture of experts, which take a second to write.
 */
const MAX_MEMBERS = 5_000_000;

/** The communication backend: `auto` is NCCL where there is a GPU a rank, gloo otherwise. */
export type CommBackend = 'auto' | 'nccl' | 'gloo';

/** All groups of one name in one module, in the order of creation. */
interface PlanFamily {
  readonly name: string;
  readonly module: string | null;
  /** The layout file, and the line of it (from 1) that the family comes from. */
  readonly file: string;
  readonly line: number;
  readonly ranks: readonly (readonly number[])[];
  /** The check that the groups are made for, after those of the layout. */
  readonly check?: 'all_gather_overlap' | 'ntp';
}

/** Two groups of the same ranks, by their places in the order of creation. */
interface GroupPair {
  readonly group: number;
  readonly other: number;
}

/** How one module spreads a sequence over the ranks of a replica. */
interface PlanSequence {
  readonly module: string | null;
  /** Tokens in the sequence. */
  readonly length: number;
  /** The groups that join the sequence again, in order. */
  readonly gather: readonly ('tp' | 'cp')[];
  /** What each rank of a replica holds, as half-open ranges of token positions. */
  readonly shares: readonly {
    readonly cp_rank: number;
    readonly tp_rank: number;
    readonly ranges: readonly TokenRange[];
  }[];
}

/** The one file that the Python job reads. */
export interface SmokePlan {
  readonly version: typeof PLAN_VERSION;
  readonly name: string;
  readonly world_size: number;
  /** Ranks on a node, as the layout sees it. */
  readonly gpus_per_node: number;
  readonly backend: CommBackend;
  readonly groups: readonly PlanFamily[];
  readonly checks: readonly string[];
  /** Null: the default of the backend. */
  readonly payload_bytes: number | null;
  /** Payloads of the check `bandwidth`. */
  readonly sweep_bytes: readonly number[];
  readonly iterations: number;
  /** Seconds, by phase. */
  readonly limits: Readonly<Record<string, number>>;
  /** The pairs of the check `all_gather_overlap`. */
  readonly overlap?: readonly GroupPair[];
  /** The input of the check `sequence`. */
  readonly sequence?: readonly PlanSequence[];
  /**
   * Ranks that leave once all groups have been created: the check `ntp` then runs the replacement groups. Empty with packed
   * placement, where only active ranks are launched.
   */
  readonly spares?: readonly number[];
}

/**
 * Writes the plan of a layout's smoke job.
 * @param file the layout file: a fault is shown at its line
 * @throws EnvironmentError where the world is too large for one
 */
export function smokePlan(layout: ResolvedLayout, facts: LayoutFacts, file: string, backend: CommBackend): SmokePlan {
  const smoke = facts.root.smoke.value;
  const asked = smoke?.checks.value?.flatMap(({ value }) => value ?? []) ?? [];
  const checks: readonly string[] = asked.length > 0 ? asked : DEFAULTS.checks;
  const timeout = smoke?.timeout.value ?? DEFAULTS.timeout;
  const lines = new LineIndex(facts.text);
  const families = processGroups(layout).filter(({ count }) => count > 0);
  refuseTooMany(layout, families);
  const groups = families.map((family) => ({
    name: family.name,
    module: family.module,
    file,
    line: lineOfGroup(facts, lines, family.name, family.module) + 1,
    ranks: Array.from(family.all(), (ranks) => [...ranks]),
  }));
  const overlap = checks.includes('all_gather_overlap') ? overlapOf(groups) : null;
  const reduced = checks.includes('ntp') ? reducedBy(layout, facts, file, lines) : null;
  return {
    version: PLAN_VERSION,
    name: layout.name ?? file,
    world_size: layout.worldSize,
    gpus_per_node: layout.gpusPerNode,
    backend,
    groups: [...groups, ...(overlap?.made ?? []), ...(reduced?.made ?? [])],
    checks,
    payload_bytes: smoke?.payload.value ?? null,
    sweep_bytes: SWEEP,
    iterations: smoke?.iterations.value ?? DEFAULTS.iterations,
    limits: { join: Math.max(30, timeout), operation: timeout, total: Math.max(300, 5 * timeout) },
    ...(overlap && { overlap: overlap.pairs }),
    ...(reduced && { spares: reduced.spares }),
    ...(checks.includes('sequence') && { sequence: sequencesOf(layout, facts) }),
  };
}

/** @throws EnvironmentError where the groups have too many members */
function refuseTooMany({ worldSize }: ResolvedLayout, families: readonly GroupFamily[]): void {
  const members = families.reduce((sum, { count, size }) => sum + count * size, 0);
  if (members > MAX_MEMBERS) {
    throw new EnvironmentError(
      `The process groups of ${grouped(worldSize)} ranks have ${grouped(members)} members; a smoke job takes ${grouped(MAX_MEMBERS)} at most. Use a smaller dp: it has the same kinds of groups.`,
    );
  }
}

/**
 * The first data-parallel group of each module, paired with the communicator that `all_gather_overlap` would gather in:
 * the layout's own (`dp_cp_ag`), or one that is made for the check.
 */
function overlapOf(families: readonly PlanFamily[]): { made: PlanFamily[]; pairs: GroupPair[] } {
  const groups = [...families];
  const startOf = (family: PlanFamily) =>
    groups.slice(0, groups.indexOf(family)).reduce((count, { ranks }) => count + ranks.length, 0);
  const pairs = families.flatMap((family): GroupPair[] => {
    const place = family.name === 'dp_cp' ? family.ranks.findIndex(({ length }) => length > 1) : -1;
    const ranks = family.ranks[place];
    if (!ranks) {
      return [];
    }
    const group = startOf(family) + place;
    const own = families.find(({ name, module }) => name === 'dp_cp_ag' && module === family.module);
    if (own) {
      return [{ group, other: startOf(own) + place }];
    }
    const made: PlanFamily = { ...family, name: 'dp_cp_ag', ranks: [ranks], check: 'all_gather_overlap' };
    groups.push(made);
    return [{ group, other: startOf(made) }];
  });
  return { made: groups.slice(families.length), pairs };
}

/** The spares of nonuniform TP, and the replacement groups that every rank makes, in runs of one name. */
function reducedBy(
  { ntp }: ResolvedLayout,
  facts: LayoutFacts,
  file: string,
  lines: LineIndex,
): { made: PlanFamily[]; spares: number[] } | null {
  const [grid] = facts.modules;
  if (!ntp || !grid?.degrees || grid.dp === undefined) {
    return null;
  }
  if (isPacked(ntp)) {
    return { made: [], spares: [] };
  }
  const shape = { cp: grid.degrees.cp, dp: grid.dp };
  const runs: { name: string; ranks: (readonly number[])[] }[] = [];
  for (const { name, ranks } of replacementGroups(ntp, shape)) {
    const last = runs.at(-1);
    if (last?.name === name) {
      last.ranks.push(ranks);
    } else {
      runs.push({ name, ranks: [ranks] });
    }
  }
  const line = (name: string) => lineOfGroup(facts, lines, name, grid.name) + 1;
  const made = runs.map(
    ({ name, ranks }): PlanFamily => ({ name, module: grid.name, file, line: line(name), ranks, check: 'ntp' }),
  );
  return { made, spares: spareRanks(ntp, shape) };
}

/** The tokens of each rank, module by module; none for packed nonuniform TP, whose groups differ in size. */
function sequencesOf({ ntp }: ResolvedLayout, facts: LayoutFacts): PlanSequence[] {
  if (isPacked(ntp)) {
    return [];
  }
  return sequencePlans(facts).map(({ module, plan }) => ({
    module,
    length: plan.length,
    gather: plan.sequenceParallel ? ['tp', 'cp'] : ['cp'],
    shares: [...sequenceShares(plan)].map(({ cpRank, tpRank, embeddings }) => ({
      cp_rank: cpRank,
      tp_rank: tpRank,
      ranges: embeddings,
    })),
  }));
}

/** How many groups of the layout a run has to pass: those of more than one rank. */
export function groupsToPass({ groups }: SmokePlan): number {
  return groups
    .filter(({ check }) => check === undefined)
    .reduce((sum, { ranks }) => sum + ranks.filter(({ length }) => length > 1).length, 0);
}

/** The plan for the backend that the machine can run. */
export function planFor(plan: SmokePlan, backend: 'nccl' | 'gloo'): SmokePlan {
  return { ...plan, backend, payload_bytes: plan.payload_bytes ?? DEFAULT_PAYLOAD[backend] };
}

/** The plan for a cluster, whose ranks may take longer to join than those of one machine. Seconds. */
export function withJoinLimit(plan: SmokePlan, seconds: number): SmokePlan {
  const { join: least = 0, total = 0 } = plan.limits;
  const join = Math.max(least, seconds);
  return { ...plan, limits: { ...plan.limits, join, total: total + join - least } };
}

/** The line of the layout (from 0) that a group comes from: its degree if that is written, else its grid's key. */
export function lineOfGroup(
  facts: LayoutFacts,
  lines: LineIndex,
  name: string | undefined,
  module: string | null,
): number {
  return lineOfKey(facts, lines, name === undefined ? '' : (groupKind(name)?.degree ?? name), module) ?? 0;
}

/** The line of the layout (from 0) of a key of a grid if it is written, else of the grid; null where there is no grid. */
export function lineOfKey(facts: LayoutFacts, lines: LineIndex, key: string, module: string | null): number | null {
  const grid = facts.modules.find((one) => one.name === module) ?? facts.modules[0];
  const field = Object.entries(grid?.fields ?? {}).find(([name]) => name === key)?.[1];
  const span = field?.written ? field.keySpan : grid?.nameSpan;
  return span ? lines.positionAt(span.start).line : null;
}
