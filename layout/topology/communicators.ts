import { sizeAlong } from '../grid/grid';
import { processGroups } from './processGroups';
import type { ResolvedLayout } from './resolved';

/**
 * How many communicators the ranks of a layout hold: groups of two ranks or more that a rank is in, each name counted by
 * itself even where another has the same ranks. A group of one rank never becomes a communicator, as it has no peer.
 */
export interface CommunicatorCount {
  /** What every rank holds. */
  readonly each: number;
  /** What the first and the last stage of a pipeline hold beyond that: the embedding group. */
  readonly atEnds: number;
  /** The names among `each` that exist only so that all-gather overlaps reduce-scatter. */
  readonly allGather: readonly string[];
}

/**
 * Counts the communicators of a layout of `parallelism` at full width, before nonuniform TP removes ranks.
 * @param hasExperts without them nothing is sent in the groups of experts, and NCCL makes no communicator for a group before its
 * first collective
 */
export function countCommunicators(layout: ResolvedLayout, hasExperts: boolean): CommunicatorCount {
  const pp = sizeAlong(layout.modules[0]?.dense ?? [], 'pp');
  const shared = processGroups(layout).filter(
    ({ name, size }) => size > 1 && name !== 'embd' && (hasExperts || !OF_EXPERTS.test(name)),
  );
  const levels = layout.hierarchicalContextParallelSizes?.filter((size) => size > 1).length ?? 0;
  const each = shared.filter(({ name }) => name !== 'hcp').length + levels;
  // with two stages every rank is at an end
  const ends = pp > 1 ? 1 : 0;
  return {
    each: pp === 2 ? each + ends : each,
    atEnds: pp === 2 ? 0 : ends,
    allGather: shared.map(({ name }) => name).filter((name) => name.endsWith('_ag')),
  };
}

/** The parts of a name that stand for experts. */
const OF_EXPERTS = /(^|_)(ep|expt)(_|$)/;
