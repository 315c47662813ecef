import { ascending } from '../collections';
import type { Place, RunGroup } from './evidence';
import type { LayoutGroups } from './groupComparison';
import type { RankLog } from './logs/log';
import type { RasAnswer, RasMember } from './ras';
import type { Recording } from './recorder';

/** A communicator of RAS with global ranks. */
export interface RasGroup {
  readonly ranks: readonly number[];
  readonly members: readonly { readonly rank: number; readonly member: RasMember }[];
}

/** An answer of RAS by global rank; RAS itself knows only processes. */
export interface RasByRank {
  readonly places: ReadonlyMap<number, Place>;
  readonly groups: readonly RasGroup[];
}

/** Where ranks run, according to the recorder and logs. */
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
 * Finds the global ranks of the processes that RAS lists: by process ids from the recorder or a log, by a communicator of all
 * ranks, or by the order of hosts and GPUs.
 * @returns null unless every whole communicator is then a group of the layout or of the run
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
    // RAS may list communicators without members
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

/** Process ids are unique on one host only. */
function ranksByPid(known: ReadonlyMap<number, Place>): Map<string, number> | null {
  const entries = [...known].flatMap(([rank, { host, pid }]) =>
    host === null || pid === null ? [] : [[`${host} ${pid}`, rank] as const],
  );
  return entries.length > 0 ? new Map(entries) : null;
}

/** In a communicator of all ranks, its ranks are the global ranks. */
function ranksByWorld(communicators: RasAnswer['communicators'], { layout }: LayoutGroups): Map<string, number> | null {
  const world = communicators.find(({ members }) => members.length === layout.worldSize);
  return world ? new Map(world.members.map((member) => [keyOf(member), member.commRank])) : null;
}

/** Launchers number ranks host by host and GPU by GPU. Null unless every process of the job is listed. */
function ranksByOrder(members: readonly RasMember[], { layout }: LayoutGroups): Map<string, number> | null {
  const processes = [...new Map(members.map((member) => [keyOf(member), member])).values()];
  const gpus = new Set(processes.map(({ host, gpu }) => `${host} ${gpu}`));
  if (processes.length !== layout.worldSize || gpus.size !== processes.length) {
    return null;
  }
  processes.sort((a, b) => a.host.localeCompare(b.host, 'en', { numeric: true }) || (a.gpu ?? 0) - (b.gpu ?? 0));
  return new Map(processes.map((member, rank) => [keyOf(member), rank]));
}
