import type { Entry } from './evidence';
import type { RankRun } from './run';

/** A place where ranks that should run the same program do not. */
export interface Divergence {
  /** The rank whose program leaves that of its peers, or its own habit where it has no peer. */
  readonly rank: number;
  /** What it did there, and what its peers did, or what it did in this place before. */
  readonly did: Entry;
  readonly expected: { readonly name: string; readonly operation: string };
  /** How many peers agree with one another against it; 0 where only its own habit speaks. */
  readonly peers: number;
  /** Whether its own earlier operations speak against it. */
  readonly breaksHabit: boolean;
}

/** What a rank does, as its peers do it: on which kind of group, and which collective. */
interface Step {
  readonly token: string;
  readonly entry: Entry;
}

/** How often a pair of steps must have been followed by one and the same step to count as a habit. */
const HABIT = 2;

/**
 * The first place where one of several ranks with the same program leaves it. Transfers do not count: neighbours in a ring send
 * and receive in different order.
 * @param nameOf what groups of one kind are called
 */
export function divergenceAmong(peers: readonly RankRun[], nameOf: (entry: Entry) => string): Divergence[] {
  const programs = aligned(
    peers.map((rank) => ({ rank: rank.rank, start: 0, steps: stepsOf(rank, nameOf), run: rank })),
  );
  const length = Math.max(0, ...programs.map(({ start, steps }) => start + steps.length));
  for (let at = 0; at < length; at++) {
    const camps = new Map<string, Program[]>();
    for (const program of programs) {
      const token = program.steps[at - program.start]?.token;
      if (token !== undefined) {
        camps.set(token, [...(camps.get(token) ?? []), program]);
      }
    }
    if (camps.size > 1) {
      return outliers([...camps.values()], at);
    }
  }
  return [];
}

/** The first place where a rank without peers does another thing than it always did before in the same place. */
export function brokenHabit(rank: RankRun, nameOf: (entry: Entry) => string): Divergence | null {
  const steps = stepsOf(rank, nameOf);
  for (let at = 2; at < steps.length; at++) {
    const habit = habitAt(steps, at);
    const step = steps[at];
    if (habit && step && habit.token !== step.token) {
      return { rank: rank.rank, did: step.entry, expected: described(habit), peers: 0, breaksHabit: true };
    }
  }
  return null;
}

interface Program {
  readonly rank: number;
  /** The place of the first step in the program of all. */
  readonly start: number;
  readonly steps: readonly Step[];
  readonly run: RankRun;
}

function stepsOf(rank: RankRun, nameOf: (entry: Entry) => string): Step[] {
  return rank.evidence.entries
    .filter(({ p2p }) => !p2p)
    .map((entry) => ({ token: `${nameOf(entry)} ${entry.operation.name}`, entry }));
}

/** Brings rings that begin at different places to one count, by the sequence numbers of a group that both know. */
function aligned(programs: readonly Program[]): Program[] {
  const [first, ...others] = programs;
  if (!first || programs.every(({ run }) => run.fromStart)) {
    return [...programs];
  }
  const places = new Map(first.steps.map(({ token, entry }, at) => [`${token} ${entry.seq}`, at]));
  return [
    first,
    ...others.flatMap((program) => {
      const at = program.steps.findIndex(({ token, entry }) => places.has(`${token} ${entry.seq}`));
      const step = program.steps[at];
      const place = step && places.get(`${step.token} ${step.entry.seq}`);
      return place === undefined ? [] : [{ ...program, start: place - at }];
    }),
  ];
}

/** Those that are fewer; of two equal camps the one that breaks its own habit. */
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
  return keeping ? breaking.flatMap((camp) => camp.flatMap((program) => divergence(program, keeping, at))) : [];
}

function divergence(program: Program, peers: readonly Program[], at: number): Divergence[] {
  const did = program.steps[at - program.start];
  const [peer] = peers;
  const expected = peer?.steps[at - peer.start];
  return did && expected
    ? [
        {
          rank: program.rank,
          did: did.entry,
          expected: described(expected),
          peers: peers.length,
          breaksHabit: breaksHabit(program, at),
        },
      ]
    : [];
}

function breaksHabit({ steps, start }: Program, at: number): boolean {
  const habit = habitAt(steps, at - start);
  return habit !== null && habit.token !== steps[at - start]?.token;
}

/** What has always followed the two steps before a place, if they were seen often enough; null for no habit. */
function habitAt(steps: readonly Step[], at: number): Step | null {
  if (at < 2) {
    return null;
  }
  let habit: Step | null = null;
  let seen = 0;
  for (let i = at - 1; i >= 2; i--) {
    const step = steps[i];
    if (step && steps[i - 1]?.token === steps[at - 1]?.token && steps[i - 2]?.token === steps[at - 2]?.token) {
      if (habit && habit.token !== step.token) {
        return null;
      }
      habit = step;
      seen++;
    }
  }
  return seen >= HABIT ? habit : null;
}

function described({ token }: Step): { name: string; operation: string } {
  const [name = '', operation = ''] = token.split(' ');
  return { name, operation };
}
