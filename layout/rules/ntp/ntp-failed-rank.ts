import type { Rule } from '../rule';
import { example, LAST_SLOT, NTP_SOURCES } from './example';
import { failedPlans } from './failedPlans';
import { failedRankFault } from './faults';
import { ntpPrediction } from './prediction';
import { contextAt } from './steps';

export const ntpFailedRank: Rule = {
  code: 'ntp-failed-rank',
  severity: 'error',
  title: 'A failed rank is still active',
  effect: 'the job waits for a broken GPU',
  what: 'A rank of `failed_ranks` is not among the removed slots.',
  why: 'The job would wait for a broken GPU.',
  failing: example('failed_ranks: [3]'),
  passing: example(`failed_ranks: [3], ${LAST_SLOT}`),
  sources: NTP_SOURCES,
  *check(facts) {
    const context = contextAt(facts, 'failedRanks');
    if (!context) {
      return;
    }
    const fault = failedRankFault(context);
    if (!fault) {
      return;
    }
    const { rank, span, world } = fault;
    const predicts = ntpPrediction(context);
    if (rank >= world) {
      yield { message: `Rank ${rank} does not exist: the world has ranks 0 to ${world - 1}.`, span, predicts };
    } else {
      const { tp, shape } = context;
      yield {
        message: `Rank ${rank} has failed but stays active. Remove slot ${rank % tp} of replica dp ${Math.floor(rank / (tp * shape.cp))}.`,
        span,
        predicts,
        fixes: failedPlans(context),
      };
    }
  },
};
