import { getOrInsert, groupedBy } from '../collections';
import type { Entry, RunGroup } from './evidence';
import type { RankRun } from './rankRun';

/** The first step in which a rank differs from ranks with the same program. */
export interface Divergence {
  /** The rank that differs from its peers or, without peers, from its own habit. */
  readonly rank: number;
  /** The operation of the rank, and that of its peers or of its own earlier steps. */
  readonly did: Entry;
  readonly expected: { readonly name: string; readonly operation: string; readonly dtype: string };
  /** The number of peers that agree against it; 0 where only its own habit differs. */
  readonly peers: number;
  /** Whether its own earlier steps differ, too. */
  readonly breaksHabit: boolean;
  /** Whether the rings had dropped their beginnings, so that the places that are compared are themselves inferred. */
  readonly aligned: boolean;
}

/** A step of a program. The token is equal for peers: the kind of group, the collective and the type. */
interface Step {
  readonly token: string;
  /** The name of the group. */
  readonly name: string;
  readonly entry: Entry;
}

/** How often one step must have followed the same steps to count as a habit. */
const HABIT = 2;
/** The most steps of a ring in which habits are searched, which takes quadratic time. */
const MAX_STEPS = 4096;
/** The least number of equal steps from which the next one is predicted. */
const MIN_CONTEXT = 3;
const MAX_CONTEXT = 512;

/**
 * The first step in which one of several ranks with the same program differs. Collectives are compared first, because neighbours
 * in a ring send and receive in different order.
 * @param nameOf the name of groups of one kind
 */
export function divergenceAmong(peers: readonly RankRun[], nameOf: (entry: Entry) => string): Divergence[] {
  const found = firstDivergence(peers, (rank) => collectivesOf(rank, nameOf));
  return found.length > 0 ? found : transferDivergence(peers, nameOf);
}

/** The first step in which few ranks differ in collectives and transfers. */
function transferDivergence(peers: readonly RankRun[], nameOf: (entry: Entry) => string): Divergence[] {
  // a ring that has dropped its beginning may begin inside a batch
  if (!peers.every(({ fromStart }) => fromStart) || !peers.some(({ evidence }) => evidence.entries.some(isTransfer))) {
    return [];
  }
  const found = firstDivergence(peers, (rank) =>
    stepsOf(
      rank.evidence.entries.filter((entry) => !entry.p2p || isTransfer(entry)),
      nameOf,
    ),
  );
  const outliers = new Set(found.map(({ rank }) => rank));
  const keptTo = ({ rank, did }: Divergence) =>
    peers.find((peer) => peer.rank === rank)?.evidence.entries.some(({ p2p, record }) => p2p && record < did.record) ===
    true;
  return found.filter((one) => one.peers > 1 && one.peers > outliers.size && keptTo(one));
}

function isTransfer({ p2p, operation }: Entry): boolean {
  return p2p && operation.peer !== null;
}

function firstDivergence(peers: readonly RankRun[], stepsIn: (rank: RankRun) => Step[]): Divergence[] {
  const programs = aligned(peers.map((run) => ({ run, start: 0, steps: stepsIn(run) })));
  const length = Math.max(0, ...programs.map(({ start, steps }) => start + steps.length));
  for (let at = 0; at < length; at++) {
    if (!isUnanimous(programs, at)) {
      return outliers(campsAt(programs, at), at);
    }
  }
  return [];
}

function isUnanimous(programs: readonly Program[], at: number): boolean {
  let common: string | undefined;
  for (const { steps, start } of programs) {
    const token = steps[at - start]?.token;
    common ??= token;
    if (token !== undefined && token !== common) {
      return false;
    }
  }
  return true;
}

/** The programs by their step in one place, without programs that are shorter. */
function campsAt(programs: readonly Program[], at: number): Program[][] {
  const camps = groupedBy(programs, ({ steps, start }) => steps[at - start]?.token);
  camps.delete(undefined);
  return [...camps.values()];
}

/** The first step in which a rank without peers breaks its own habit. */
export function brokenHabit(rank: RankRun, nameOf: (entry: Entry) => string): Divergence | null {
  const steps = collectivesOf(rank, nameOf).slice(-MAX_STEPS);
  for (let at = 2; at < steps.length; at++) {
    const habit = habitAt(steps, at);
    const step = steps[at];
    if (habit && step && habit.token !== step.token) {
      return {
        rank: rank.rank,
        did: step.entry,
        expected: described(habit),
        peers: 0,
        breaksHabit: true,
        aligned: false,
      };
    }
  }
  return null;
}

/**
 * The collective that a rank would run next: the one that followed the longest run of steps equal to its last ones.
 * @param sized whether steps of other sizes are other steps
 */
export function nextByHabit(rank: RankRun, nameOf: (entry: Entry) => string, sized = false): Entry | null {
  const steps = collectivesOf(rank, nameOf, sized).slice(-MAX_STEPS);
  let longest = MIN_CONTEXT - 1;
  let next: Step | null = null;
  for (let at = MIN_CONTEXT; at < steps.length; at++) {
    const length = commonContext(steps, at);
    const step = steps[at];
    if (step && length > longest) {
      longest = length;
      next = step;
    } else if (length === longest && next?.token !== step?.token) {
      next = null;
    }
  }
  return next?.entry ?? null;
}

/** How many steps before a place are the same as at the end. */
function commonContext(steps: readonly Step[], at: number): number {
  let length = 0;
  while (
    length < Math.min(at, MAX_CONTEXT) &&
    steps[at - 1 - length]?.token === steps[steps.length - 1 - length]?.token
  ) {
    length++;
  }
  return length;
}

interface Program {
  /** The place of the first step in the program of all. */
  readonly start: number;
  readonly steps: readonly Step[];
  readonly run: RankRun;
}

function collectivesOf(rank: RankRun, nameOf: (entry: Entry) => string, sized = false): Step[] {
  return stepsOf(
    rank.evidence.entries.filter(({ p2p }) => !p2p),
    nameOf,
    sized,
  );
}

function stepsOf(entries: readonly Entry[], nameOf: (entry: Entry) => string, sized = false): Step[] {
  const tokens = new Map<RunGroup, Map<string, string>>();
  const names = new Map<RunGroup, string>();
  return entries.map((entry) => {
    const name = getOrInsert(names, entry.group, () => nameOf(entry));
    const ofGroup = getOrInsert(tokens, entry.group, () => new Map());
    // sizes may differ with the data, types may not
    const { operation } = entry;
    const size = sized ? ` ${operation.input} ${operation.output}` : '';
    const what = `${operation.name} ${operation.peer ?? ''} ${operation.dtype}${size}`;
    return { token: getOrInsert(ofGroup, what, () => `${name} ${what}`), name, entry };
  });
}

/** Aligns rings that begin at different steps by the sequence numbers of their groups. */
function aligned(programs: readonly Program[]): Program[] {
  const [first, ...others] = programs;
  if (!first || programs.every(({ run }) => run.fromStart)) {
    return [...programs];
  }
  const places = placesIn(first);
  return [
    first,
    ...others.flatMap((program) => {
      const start = commonest([...placesIn(program)].flatMap(([key, at]) => (places.get(key) ?? Number.NaN) - at));
      return start === null ? [] : [{ ...program, start }];
    }),
  ];
}

/** The place of each step by token and sequence number; NaN where two groups of one name share it. */
function placesIn({ steps }: Program): Map<string, number> {
  const places = new Map<string, number>();
  for (const [at, { token, entry }] of steps.entries()) {
    const key = `${token} ${entry.seq}`;
    places.set(key, places.has(key) ? Number.NaN : at);
  }
  return places;
}

/** The value of more than half of the numbers; null for none. */
function commonest(values: readonly number[]): number | null {
  const known = values.filter((value) => !Number.isNaN(value));
  const counts = new Map<number, number>();
  for (const value of known) {
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].find(([, count]) => count * 2 > known.length)?.[0] ?? null;
}

/** The smaller camps; of two equal ones the one that breaks its own habit. */
function outliers(camps: readonly (readonly Program[])[], at: number): Divergence[] {
  const sorted = [...camps].sort((a, b) => b.length - a.length);
  const [most, second] = sorted;
  if (!most || !second) {
    return [];
  }
  if (most.length > second.length) {
    return sorted.slice(1).flatMap((camp) => camp.flatMap((program) => divergence(program, most, at)));
  }
  const breaking = sorted.filter((camp) => camp.some((program) => breaksHabit(program, at)));
  const keeping = sorted.find((camp) => !breaking.includes(camp));
  return keeping && breaking.length > 0
    ? breaking.flatMap((camp) => camp.flatMap((program) => divergence(program, keeping, at)))
    : sorted
        .flatMap((camp) => camp.flatMap((program) => divergence(program, camp, at)))
        .map((one) => ({ ...one, peers: 0, breaksHabit: false }));
}

/** Whether the rank is known to be wrong. */
export function isResolved({ peers, breaksHabit }: Divergence): boolean {
  return peers > 0 || breaksHabit;
}

function divergence(program: Program, peers: readonly Program[], at: number): Divergence[] {
  const did = program.steps[at - program.start];
  const [peer] = peers;
  const expected = peer?.steps[at - peer.start];
  return did && expected
    ? [
        {
          rank: program.run.rank,
          did: did.entry,
          expected: described(expected),
          peers: peers.length,
          breaksHabit: breaksHabit(program, at),
          aligned: ![program, peer].every((one) => one?.run.fromStart),
        },
      ]
    : [];
}

function breaksHabit({ steps, start }: Program, at: number): boolean {
  const habit = habitAt(steps, at - start);
  return habit !== null && habit.token !== steps[at - start]?.token;
}

/**
 * The step that has always followed the steps before a place, if they occurred often enough; null for no habit. They reach back to
 * the last occurrence of this step, so that the end of a loop and a first occurrence break no habit.
 */
function habitAt(steps: readonly Step[], at: number): Step | null {
  const before = at - previous(steps, at);
  const context = Math.max(2, before);
  if (before > at || at < context) {
    return null;
  }
  let habit: Step | null = null;
  let seen = 0;
  for (let i = at - 1; i >= context; i--) {
    const step = steps[i];
    if (step && sameContext(steps, i, at, context)) {
      if (habit && habit.token !== step.token) {
        return null;
      }
      habit = step;
      seen++;
    }
  }
  return seen >= HABIT ? habit : null;
}

/** The last earlier place of a step; -1 for none. */
function previous(steps: readonly Step[], at: number): number {
  let i = at - 1;
  while (i >= 0 && steps[i]?.token !== steps[at]?.token) {
    i--;
  }
  return i;
}

function sameContext(steps: readonly Step[], i: number, at: number, length: number): boolean {
  for (let back = 1; back <= length; back++) {
    if (steps[i - back]?.token !== steps[at - back]?.token) {
      return false;
    }
  }
  return true;
}

function described({ name, entry: { operation } }: Step): Divergence['expected'] {
  return { name, operation: operation.name, dtype: operation.dtype };
}
