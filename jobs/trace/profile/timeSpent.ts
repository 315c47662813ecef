import { countOf } from '../../../layout';
import { median } from '../../../layout/median';
import { ascending, getOrInsert, groupedBy } from '../../collections';
import type { RunGroup } from '../evidence';
import { elementBytes } from '../mismatch';
import { milliseconds, ranksText, rounded } from '../texts';
import type { ProfiledRun, SlowRank } from '../verification';
import type { ProfiledOperation, RankProfile } from './kinetoTrace';

/** What is asked of the layout. */
interface ProfileContext {
  readonly nameOf: (group: RunGroup) => string;
  /** The key of a rank's program: ranks of one pipeline stage run the same one. */
  readonly programOf: (rank: number) => string;
  readonly coordinatesOf: (rank: number) => SlowRank['coordinates'];
}

/** Where the time of one rank goes. Seconds a step. */
type RankTime = ProfiledRun['ranks'][number];

/** From which share of a step on a difference counts. Waiting is measured exactly: equal ranks differ by about 1 %. */
const SLOW = 0.05;
const BYTES_PER_GB = 1e9;

/** The operations of a rank that are compared with those of others. */
interface Compared {
  readonly profile: RankProfile;
  readonly operations: readonly ProfiledOperation[];
}

/** One operation on all members that are read. */
interface Meeting {
  readonly group: RunGroup;
  readonly members: readonly { readonly rank: number; readonly operation: ProfiledOperation }[];
  /** The time of the last of these members to come. Seconds. */
  readonly shortest: number;
}

/** The same with the time that it takes once all members, also those that are not read, have come. Seconds. */
interface Joint extends Meeting {
  readonly transfer: number;
}

/**
 * Holds the profiles of some ranks against each other. A collective ends on all members at once, and on the last that comes to it
 * takes only as long as the transfer: what it takes longer on another is waiting. No clocks are compared.
 */
export function profiledRun(
  profiles: readonly RankProfile[],
  context: ProfileContext,
): { readonly run: ProfiledRun; readonly slow: readonly SlowRank[] } | null {
  if (profiles.length === 0) {
    return null;
  }
  const steps = comparedSteps(profiles);
  const compared = profiles.map((profile) => ({
    profile,
    operations: profile.operations.filter(({ step }) => steps.size === 0 || (step !== null && steps.has(step))),
  }));
  const { found, apart } = jointOperations(compared);
  const joint = withTransferTimes(found, context);
  const waiting = waitingTimes(profiles, joint);
  const count = Math.max(1, steps.size);
  const ranks = compared
    .filter(({ operations }) => operations.length > 0)
    .map(({ profile, operations }) => rankTime(profile, operations, waiting, steps, count))
    .sort((a, b) => a.rank - b.rank);
  const run = {
    ranks,
    steps: steps.size,
    kinds: kindTimes(compared, joint, waiting, context, { ranks, steps: count }),
    why: [...apartText(apart), ...waitsForUnread(joint, ranks, count, context)],
  };
  return { run, slow: slowOf(ranks, joint, context) };
}

/** How long each operation keeps its GPU waiting for another rank, without the time in which the GPU has other work. Seconds. */
function waitingTimes(
  profiles: readonly RankProfile[],
  joint: readonly Joint[],
): ReadonlyMap<ProfiledOperation, number> {
  const computing = new Map(profiles.map((profile) => [profile.rank, profile.computing]));
  return new Map(
    joint.flatMap(({ members, transfer }) =>
      members.map(({ rank, operation: one }) => {
        const waited = one.duration - transfer;
        return [one, waited - (computing.get(rank)?.within(one.start, one.start + waited) ?? 0)] as const;
      }),
    ),
  );
}

/** The steps that all profiles have whole; without the first, which waits for profilers to start. Empty where none are numbered. */
function comparedSteps(profiles: readonly RankProfile[]): ReadonlySet<number> {
  const [first, ...others] = profiles.map(({ steps }) => steps).filter(({ length }) => length > 0);
  const sets = others.map((steps) => new Set(steps));
  const common = (first ?? []).filter((step) => sets.every((steps) => steps.has(step)));
  return new Set(common.length > 1 ? common.slice(1) : common);
}

/** Operations of several ranks that are one. */
function jointOperations(compared: readonly Compared[]): {
  readonly found: readonly Meeting[];
  readonly apart: number;
} {
  const sequences = new Map<RunGroup, Map<string, Map<number, ProfiledOperation[]>>>();
  for (const { profile, operations } of compared) {
    for (const operation of operations) {
      const key = sequenceOf(operation, profile.rank);
      if (key !== null) {
        const byKey = getOrInsert(sequences, operation.group, () => new Map());
        const byRank = getOrInsert(byKey, key, () => new Map());
        getOrInsert(byRank, profile.rank, () => []).push(operation);
      }
    }
  }
  let apart = 0;
  const found: Meeting[] = [];
  for (const [group, byKey] of sequences) {
    for (const byRank of byKey.values()) {
      const members = [...byRank];
      const lengths = members.map(([, operations]) => operations.length);
      const length = Math.min(...lengths);
      if (lengths.some((other) => other !== length)) {
        apart += Math.max(...lengths);
        continue;
      }
      for (let at = 0; at < length; at++) {
        const here = members.flatMap(([rank, operations]) => {
          const operation = operations[at];
          return operation ? [{ rank, operation }] : [];
        });
        found.push({ group, members: here, shortest: least(here.map(({ operation }) => operation.duration)) });
      }
    }
  }
  return { found, apart };
}

/**
 * The sequence of a group to which an operation belongs: the collectives of a step, or its transfers from one rank to another. A
 * batch of transfers, whose other ends are not told, stands alone; null for a transfer without its other end.
 */
function sequenceOf({ group, name, peer, step }: ProfiledOperation, rank: number): string | null {
  const other = peer === null ? undefined : group.ranks[peer];
  if (name === 'send' || name === 'recv') {
    return other === undefined ? null : `${step} ${name === 'send' ? `${rank}>${other}` : `${other}>${rank}`}`;
  }
  return name === 'coalesced' && group.ranks.length > 2 ? `${step} by ${rank}` : `${step}`;
}

function rankTime(
  { rank, operations: all, computing }: RankProfile,
  operations: readonly ProfiledOperation[],
  waiting: ReadonlyMap<ProfiledOperation, number>,
  steps: ReadonlySet<number>,
  count: number,
): RankTime {
  const [first] = operations;
  // a step ends, on all ranks, with the last operation that they share
  const before = all.findLast(({ step, start }) => step !== null && !steps.has(step) && start < (first?.start ?? 0));
  const from = before ? before.start + before.duration : (first?.start ?? 0);
  const last = operations.at(-1);
  const span = (last ? last.start + last.duration : from) - from;
  const waited = operations.reduce((sum, operation) => sum + (waiting.get(operation) ?? 0), 0);
  return {
    rank,
    step_s: span / count,
    waiting_s: waited / count,
    busy_s: Math.max(0, span - waited) / count,
    computing_s: computing.within(from, from + span) / count,
  };
}

function kindTimes(
  compared: readonly Compared[],
  joint: readonly Joint[],
  waiting: ReadonlyMap<ProfiledOperation, number>,
  { nameOf }: ProfileContext,
  { ranks, steps }: { readonly ranks: readonly RankTime[]; readonly steps: number },
): ProfiledRun['kinds'][number][] {
  const whole = groupedBy(joint.filter(isWhole), ({ group }) => nameOf(group));
  const all = compared.flatMap(({ profile, operations }) =>
    operations
      .filter(({ group }) => group.ranks.length > 1)
      .map((operation) => ({ operation, computing: profile.computing })),
  );
  const computing = sum(ranks, ({ computing_s }) => computing_s) / ranks.length;
  return [...groupedBy(all, ({ operation }) => nameOf(operation.group))]
    .map(([name, ofKind]) => {
      const mean = (secondsOf: (item: (typeof ofKind)[number]) => number) =>
        sum(ofKind, secondsOf) / steps / ranks.length;
      const time = mean(({ operation }) => operation.duration);
      const waited = mean(({ operation }) => waiting.get(operation) ?? 0);
      return {
        name,
        time_s: time,
        waiting_s: waited,
        hidden_s: mean(({ operation: { start, duration }, computing: busy }) => busy.within(start, start + duration)),
        hideable_s: Math.min(time - waited, computing),
        bus_gb_s: busBandwidth(whole.get(name) ?? []),
      };
    })
    .sort((one, other) => other.time_s - one.time_s);
}

function isTransfer({ members }: Meeting): boolean {
  return members.some(({ operation: { name } }) => name === 'send' || name === 'recv' || name === 'coalesced');
}

/** Whether every member of the group, or both ends of a transfer, are read. */
function isWhole({ group, members }: Meeting): boolean {
  return members.length === (members[0]?.operation.peer === null ? group.ranks.length : 2);
}

/** All bytes over all time in which everybody takes part; null where an operation or its size is unknown. GB/s. */
function busBandwidth(joint: readonly Joint[]): number | null {
  const bytes = joint.map(({ group, members }) => busBytes(members[0]?.operation, group.ranks.length));
  const time = sum(joint, ({ transfer }) => transfer);
  return bytes.length === 0 || time === 0 || bytes.includes(null)
    ? null
    : rounded(sum(bytes, (one) => one ?? 0) / time / BYTES_PER_GB);
}

/** The bytes of an operation that cross the bus of one member, as nccl-tests count them; null for unknown. */
function busBytes(operation: ProfiledOperation | undefined, ranks: number): number | null {
  const element = operation && elementBytes(operation.dtype);
  if (!(operation && element) || operation.input < 0 || operation.output < 0) {
    return null;
  }
  const others = (ranks - 1) / ranks;
  const name = operation.name.replaceAll('_', '');
  const elements = /^allreduce/.test(name)
    ? 2 * others * operation.input
    : /^allgather/.test(name)
      ? others * operation.output
      : /^(?:reducescatter|alltoall)/.test(name)
        ? others * operation.input
        : /^(?:send|recv|broadcast|reduce$)/.test(name)
          ? Math.max(operation.input, operation.output)
          : null;
  return elements === null ? null : elements * element;
}

function least(values: readonly number[]): number {
  return values.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
}

function sum<T>(items: readonly T[], amountOf: (item: T) => number): number {
  return items.reduce((total, item) => total + amountOf(item), 0);
}

function apartText(apart: number): string[] {
  return apart === 0
    ? []
    : [
        `${countOf(apart, 'operation')} of a step cannot be held against each other: ranks recorded different numbers of them.`,
      ];
}

/**
 * Adds the time of the transfer. Where a member is not read, all that are may wait: then it is that of the fastest operation of the
 * same group kind and size.
 */
function withTransferTimes(found: readonly Meeting[], { nameOf }: ProfileContext): Joint[] {
  const shape = ({ group, members }: Meeting) => {
    const one = members[0]?.operation;
    return [nameOf(group), group.ranks.length, one?.name, one?.input, one?.output, one?.dtype].join(' ');
  };
  return [...groupedBy(found, shape).values()].flatMap((same) => {
    const fastest = least(same.map(({ shortest }) => shortest));
    return same.map((one) => ({ ...one, transfer: isWhole(one) ? one.shortest : fastest }));
  });
}

/** Groups in which all ranks that are read wait, so that one that is not read comes last. */
function waitsForUnread(
  joint: readonly Joint[],
  ranks: readonly RankTime[],
  count: number,
  { nameOf }: ProfileContext,
): string[] {
  const step = Math.max(...ranks.map(({ step_s }) => step_s));
  return [
    ...groupedBy(
      // between stages, waiting is the pipeline's own
      joint.filter((one) => !(isWhole(one) || isTransfer(one))),
      ({ group }) => group,
    ),
  ].flatMap(([group, part]) => {
    const waited = sum(part, ({ shortest, transfer }) => shortest - transfer) / count;
    const read = new Set(part.flatMap(({ members }) => members.map(({ rank }) => rank)));
    const unread = group.ranks.filter((rank) => !read.has(rank));
    return waited < SLOW * step || unread.length === 0
      ? []
      : [
          `In ${nameOf(group)}, ${ranksText(ascending(read))} ${read.size === 1 ? 'waits' : 'all wait'} ${milliseconds(waited)} of a step: the last to come is ${unread.length === 1 ? '' : 'one of '}${ranksText(unread)}, without a trace here.`,
        ];
  });
}

/** Ranks that are waited for: the one with the least waiting among ranks with the same program, or else among stages. */
function slowOf(ranks: readonly RankTime[], joint: readonly Joint[], context: ProfileContext): SlowRank[] {
  const { programOf } = context;
  const met = new Set(
    joint.filter(({ members }) => members.length > 1).flatMap(({ members }) => members.map(({ rank }) => rank)),
  );
  const programs = [
    ...groupedBy(
      ranks.filter(({ rank }) => met.has(rank)),
      ({ rank }) => programOf(rank),
    ).values(),
  ];
  const within = programs.flatMap((peers) =>
    peers.flatMap((one) =>
      slowBeside(
        one,
        peers.filter((other) => other !== one),
        context,
      ),
    ),
  );
  if (within.length > 0 || programs.length < 2) {
    return within;
  }
  const stages = programs.map((peers) => median(peers.map(({ busy_s }) => busy_s)) ?? 0);
  return programs.flatMap((peers, at) => {
    const others = stages.filter((_, other) => other !== at);
    const [first] = peers;
    const busy = stages[at] ?? 0;
    const usual = Math.max(...others);
    return first && busy - usual >= SLOW * first.step_s
      ? peers.map(({ rank }) => ({
          rank,
          coordinates: context.coordinatesOf(rank),
          part: 'stage',
          ratio: rounded(busy / usual),
          because: `${peers.length === 1 ? 'It works' : `The ${peers.length} ranks of its stage that are read work`} ${milliseconds(busy)} of a step, the ranks of every other stage that is read ${milliseconds(usual)} at most. ${
            peers.length === 1
              ? 'No other rank of its stage is read: whether the rank is slow or its stage has more to do is not told.'
              : 'They do not differ from each other: their stage has more to do.'
          }`,
        }))
      : [];
  });
}

function slowBeside(one: RankTime, peers: readonly RankTime[], { coordinatesOf }: ProfileContext): SlowRank[] {
  const usual = median(peers.map(({ busy_s }) => busy_s)) ?? 0;
  return peers.length === 0 || one.busy_s - usual < SLOW * one.step_s
    ? []
    : [
        {
          rank: one.rank,
          coordinates: coordinatesOf(one.rank),
          part: 'work',
          ratio: rounded(one.busy_s / usual),
          because: `It works ${milliseconds(one.busy_s)} of a step and waits ${milliseconds(one.waiting_s)}; ${countOf(peers.length, 'rank')} with the same program ${peers.length === 1 ? 'works' : 'work'} ${milliseconds(usual)}.`,
        },
      ];
}
