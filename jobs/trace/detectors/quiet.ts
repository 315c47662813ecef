import { countOf } from '../../../layout';
import { ascending } from '../../collections';
import type { Entry, RunGroup } from '../evidence';
import type { Run } from '../rankRun';
import type { RunContext } from '../suspect';
import { operationText, ranksText } from '../texts';
import type { Detector, Finding } from './scene';

const NOTHING = { verdict: 'unknown', suspects: [], mismatch: null } as const;

/** All members have entered an operation, which does not end. */
export const STALLED: Detector = {
  name: 'stalled',
  detect({ run, graph, context }) {
    const [[rank, stalled] = []] = graph.stalled;
    if (rank === undefined || !stalled) {
      return null;
    }
    if (run.ranks.get(rank)?.evidence.source === 'log') {
      const entered = `All members have entered ${operationText(stalled, context)}, and it has timed out`;
      const why = `${entered}: they do not do the same (another size, type or order), which their dumps would show, or it is stuck below torch (network, GPU, driver).`;
      return { ...NOTHING, why: [why] };
    }
    const pending = `All members have entered ${operationText(stalled, context)}, which has not completed`;
    const why = `${pending}: the run was in progress when it was dumped, or it is stuck below torch (network, GPU, driver).`;
    return { ...NOTHING, why: [why] };
  },
};

/** No rank waits in the dumps: healthy where there is no rank that they do not show. */
export const HEALTHY: Detector = {
  name: 'healthy',
  detect({ run, context }) {
    const dumped = run.all.filter(({ whole }) => whole).length;
    if (dumped === 0) {
      return null;
    }
    const older = olderDump(run);
    if (older) {
      const { entry, rank } = older;
      const why = `The dumps are of different moments: the others of its group have completed ${operationText(entry, context)}, which the dump of rank ${rank} does not show.`;
      return { ...NOTHING, why: [why] };
    }
    const hidden = hiddenRanks(run, context);
    const why = `${countOf(dumped, 'rank')} of ${run.worldSize} left a whole dump, and none of these waits; ${ranksText(hidden)} may.`;
    if (context.foreign) {
      return { ...NOTHING, why: ['Some files are of another run or another number of ranks.'] };
    }
    return hidden.length === 0 ? { ...NOTHING, verdict: 'healthy', why: [] } : { ...NOTHING, why: [why] };
  },
};

/** A rank whose dump lacks a collective of its group that others have completed: it was written before theirs. */
function olderDump(run: Run): { readonly entry: Entry; readonly rank: number } | null {
  const last = new Map<RunGroup, Entry>();
  for (const { evidence } of run.all.filter(({ whole }) => whole)) {
    for (const entry of evidence.entries) {
      if (entry.completed && !entry.p2p && entry.seq > (last.get(entry.group)?.seq ?? 0)) {
        last.set(entry.group, entry);
      }
    }
  }
  for (const [group, entry] of last) {
    const rank = group.ranks.find((member) => {
      const own = run.ranks.get(member);
      return own?.whole === true && own.lastSeq(group) < entry.seq;
    });
    if (rank !== undefined) {
      return { entry, rank };
    }
  }
  return null;
}

/** Ranks that may wait unseen: without a whole dump, unless RAS counts as many operations for them as for their groups. */
function hiddenRanks(run: Run, { answered }: RunContext): number[] {
  const hidden = run.all.filter(({ rank, whole }) => !whole && !answered.has(rank)).map(({ rank }) => rank);
  return [...hidden, ...run.silent().filter((rank) => !answered.has(rank))].sort((a, b) => a - b);
}

/** Nothing tells how far the ranks are. */
export const NOTHING_SEEN: Detector = {
  name: 'nothing seen',
  detect({ run, context }): Finding {
    if (context.recorded) {
      const why = 'Only the groups were compared: the recorder does not record operations.';
      return { ...NOTHING, verdict: 'healthy', why: [why] };
    }
    if (context.answered.size > 0) {
      const why =
        'RAS counts as many operations on all members of each communicator: one answer does not show whether they progress.';
      return { ...NOTHING, why: [why] };
    }
    if (context.profiled.length > 0) {
      const ranks = ranksText(ascending(context.profiled));
      const why = `A profile shows a time in which its rank progressed; those of ${ranks} were compared.`;
      const read = new Set(context.profiled);
      // what could not be read of a dump may show that its rank waits
      const all = context.open.length === 0 && run.all.length === 0 && run.silent().every((rank) => read.has(rank));
      return { ...NOTHING, verdict: all ? 'healthy' : 'unknown', why: [why] };
    }
    if (context.reported !== null) {
      const why = `The log reports training steps, the last is step ${context.reported}, and no fault; it does not show process groups.`;
      return { ...NOTHING, why: [why] };
    }
    return { ...NOTHING, why: context.open.length > 0 ? [] : ['No file shows how far the ranks have come.'] };
  },
};
