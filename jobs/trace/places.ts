import type { Place, RunGroup } from './evidence';
import type { LayoutGroups } from './groupComparison';
import type { RankLog } from './log';
import type { RasAnswer, RasMember } from './ras';
import type { Recording } from './recorder';

/** A communicator of RAS with global ranks. */
export interface RasGroup {
  readonly ranks: readonly number[];
  readonly members: readonly { readonly rank: number; readonly member: RasMember }[];
}

/** What RAS says, by global rank; RAS itself knows processes only. */
export interface RasByRank {
  readonly places: ReadonlyMap<number, Place>;
  readonly groups: readonly RasGroup[];
}

/** Where ranks run, as the recorder and logs tell. */
export function knownPlaces(recordings: readonly Recording[], logs: ReadonlyMap<number, RankLog>): Map<number, Place> {
  const places = new Map<number, Place>();
  for (const { rank, pid, host } of logs.values()) {
    if (pid !== null) {
      // torchrun calls its own machine localhost
      places.set(rank, { host: host === 'localhost' ? null : host, gpu: null, pid });
    }
  }
  for (const { rank, host, gpu, pid } of recordings) {
    places.set(rank, { host, gpu, pid });
  }
  return places;
}

/**
 * Finds the global ranks of the processes that RAS lists: by process ids that the recorder or a log tell, by a communicator of
 * all ranks, or by host and GPU in order. What is found must make every communicator one of the layout's or the run's groups;
 * otherwise nothing is.
 */
export function rasByRank(
  answers: readonly RasAnswer[],
  known: ReadonlyMap<number, Place>,
  layout: LayoutGroups,
  groups: readonly RunGroup[],
): RasByRank | null {
  const communicators = answers.flatMap((answer) => answer.communicators);
  const members = communicators.flatMap((communicator) => communicator.members);
  const sets = new Set(groups.map(({ ranks }) => ascending(ranks).join()));
  for (const ranks of [ranksByPid(known), ranksByWorld(communicators, layout), ranksByOrder(members, layout)]) {
    // RAS may list communicators that it knows nothing of: those say nothing of the places
    const found = ranks
      ? communicators.filter((one) => one.members.length > 0 && one.members.every((member) => ranks.has(keyOf(member))))
      : [];
    const rasGroups = found.map((one) => {
      const located = one.members.map((member) => ({ rank: ranks?.get(keyOf(member)) ?? 0, member }));
      return {
        whole: one.size === located.length,
        ranks: ascending(located.map(({ rank }) => rank)),
        members: located,
      };
    });
    if (rasGroups.length > 0 && rasGroups.every((one) => !one.whole || isGroup(one.ranks, layout, sets))) {
      return {
        groups: rasGroups,
        places: new Map(
          rasGroups.flatMap((group) =>
            group.members.map(({ rank, member }) => [rank, { host: member.host, gpu: member.gpu, pid: member.pid }]),
          ),
        ),
      };
    }
  }
  return null;
}

function ascending(ranks: readonly number[]): number[] {
  return [...ranks].sort((a, b) => a - b);
}

function keyOf({ host, pid }: RasMember): string {
  return `${host} ${pid}`;
}

function isGroup(ranks: readonly number[], layout: LayoutGroups, sets: ReadonlySet<string>): boolean {
  return (
    sets.has(ranks.join()) ||
    layout.matches({ name: '', desc: '', ranks }).length > 0 ||
    ranks.length === layout.layout.worldSize
  );
}

/** Process ids are told apart by machine only where the same machine is named in both. */
function ranksByPid(known: ReadonlyMap<number, Place>): Map<string, number> | null {
  const entries = [...known].flatMap(([rank, { host, pid }]) =>
    host === null || pid === null ? [] : [[`${host} ${pid}`, rank] as const],
  );
  return entries.length > 0 ? new Map(entries) : null;
}

/** In a communicator of all ranks the rank is the global one. */
function ranksByWorld(communicators: RasAnswer['communicators'], { layout }: LayoutGroups): Map<string, number> | null {
  const world = communicators.find(({ members }) => members.length === layout.worldSize);
  return world ? new Map(world.members.map((member) => [keyOf(member), member.commRank])) : null;
}

/** Launchers give ranks machine by machine and GPU by GPU; tried only where every process of the job is there. */
function ranksByOrder(members: readonly RasMember[], { layout }: LayoutGroups): Map<string, number> | null {
  const processes = [...new Map(members.map((member) => [keyOf(member), member])).values()];
  const gpus = new Set(processes.map(({ host, gpu }) => `${host} ${gpu}`));
  if (processes.length !== layout.worldSize || gpus.size !== processes.length) {
    return null;
  }
  processes.sort((a, b) => a.host.localeCompare(b.host, 'en', { numeric: true }) || (a.gpu ?? 0) - (b.gpu ?? 0));
  return new Map(processes.map((member, rank) => [keyOf(member), rank]));
}
