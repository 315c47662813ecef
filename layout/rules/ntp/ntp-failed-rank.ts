import { example, ntpRule } from './example';
import { failedRankFault } from './faults';
import { atStep, isSupportedGrid } from './steps';

export const ntpFailedRank = ntpRule({
  code: 'ntp-failed-rank',
  severity: 'error',
  title: 'A failed rank is still active',
  effect: 'the job waits for a broken GPU',
  what: 'A rank of `failed_ranks` is not among the removed slots.',
  why: 'Megatron-LM does not read `failed_ranks`. Only the slots that `ntp` removes leave the job.',
  failing: example('failed_ranks: [3]'),
  check: atStep('failedRanks', function* (context) {
    const fault = failedRankFault(context);
    if (fault) {
      const { rank, span, world } = fault;
      const { tp, shape } = context;
      const replica = Math.floor(rank / (tp * shape.cp));
      const advice = isSupportedGrid(context)
        ? `Remove slot ${rank % tp} of replica dp ${replica}.`
        : 'Nonuniform TP needs pp 1, the default order and no generalized TP: change the grid, or drop the replica.';
      const message =
        rank >= world
          ? `Rank ${rank} does not exist: the world has ranks 0 to ${world - 1}. Name ranks of the whole grid.`
          : `Rank ${rank} has failed but stays active. ${advice}`;
      yield { message, span };
    }
  }),
});
