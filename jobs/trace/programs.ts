import type { Entry, RunGroup } from './evidence';
import type { RankRun } from './run';

/** A place where ranks that should run the same program do not. */
export interface Divergence {
  /** The rank whose program leaves that of its peers, or its own habit where it has no peer. */
  readonly rank: number;
  /** What it did there, and what its peers did, or what it did in this place before. */
  readonly did: Entry;
  readonly expected: { readonly name: string; readonly operation: string; readonly dtype: string };
  /** How many peers agree with one another against it; 0 where only its own habit speaks. */
  readonly peers: number;
  /** Whether its own earlier operations speak against it. */
  readonly breaksHabit: boolean;
}

/** What a rank does, as its peers do it: on which kind of group, which collective, and of which type. */
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

/** The programs by what they do in one place; without those that do not come there. */
function campsAt(programs: readonly Program[], at: number): Program[][] {
  const camps = new Map<string, Program[]>();
  for (const program of programs) {
    const token = program.steps[at - program.start]?.token;
    const camp = token === undefined ? undefined : camps.get(token);
    if (camp) {
      camp.push(program);
    } else if (token !== undefined) {
      camps.set(token, [program]);
    }
  }
  return [...camps.values()];
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
  const tokens = new Map<RunGroup, Map<string, string>>();
  return rank.evidence.entries
    .filter(({ p2p }) => !p2p)
    .map((entry) => {
      const ofGroup = tokens.get(entry.group) ?? new Map<string, string>();
      tokens.set(entry.group, ofGroup);
      // sizes may differ with the data, types may not
      const what = `${entry.operation.name} ${entry.operation.dtype}`;
      const token = ofGroup.get(what) ?? `${nameOf(entry)} ${what}`;
      ofGroup.set(what, token);
      return { token, entry };
    });
}

/** Brings rings that begin at different places to one count, by the sequence numbers of a group that both know. */
function aligned(programs: readonly Program[]): Program[] {
  const [first, ...others] = programs;
  if (!first || programs.every(({ run }) => run.fromStart)) {
    return [...programs];
  }
  const places = new Map<string, Map<number, number>>();
  for (const [at, { token, entry }] of first.steps.entries()) {
    const bySeq = places.get(token) ?? new Map<number, number>();
    places.set(token, bySeq);
    bySeq.set(entry.seq, at);
  }
  const placeOf = ({ token, entry }: Step) => places.get(token)?.get(entry.seq);
  return [
    first,
    ...others.flatMap((program) => {
      const at = program.steps.findIndex((step) => placeOf(step) !== undefined);
      const step = program.steps[at];
      const place = step && placeOf(step);
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

function described({ token }: Step): Divergence['expected'] {
  const [name = '', operation = '', dtype = ''] = token.split(' ');
  return { name, operation, dtype };
}
