import { changeFix } from '../fixes';
import { countOf } from '../numbers';
import type { Report, Rule } from '../rule';
import { example, LAST_SLOT, NTP_SOURCES } from './example';
import { failedPlans } from './failedPlans';
import { faultsOfKind } from './faults';
import type { NtpContext } from './ntpContext';
import { ntpPrediction } from './prediction';
import { contextAt } from './steps';

export const ntpReplicaRange: Rule = {
  code: 'ntp-replica-range',
  severity: 'error',
  title: 'No such replica',
  effect: 'torch refuses ranks outside the world, or entries are ignored',
  what: '`dp`, `cp` or `pp` of an entry is outside the grid, or `num_reduced_tp_dp_ranks` is more than `dp`.',
  why: 'Groups would be asked for outside the world, or entries silently ignored.',
  failing: example('tp_spares: 1, num_reduced_tp_dp_ranks: 3, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  passing: example(LAST_SLOT),
  sources: NTP_SOURCES,
  *check(facts) {
    const sizes = contextAt(facts, 'sizes');
    if (sizes && sizes.ntp.numReducedTpDpRanks > sizes.shape.dp) {
      yield countReport(sizes);
    }
    const context = contextAt(facts, 'entries');
    for (const { name, field, size } of context ? faultsOfKind(context, 'outside') : []) {
      yield {
        message: `${name} ${field.value} does not exist: the grid has ${name} 0 ${size === 1 ? 'only' : `to ${size - 1}`}.`,
        span: field.span,
        predicts: context && ntpPrediction(context),
        fixes: [changeFix(name, field.span, size - 1), ...(context ? failedPlans(context) : [])],
      };
    }
  },
};

function countReport(context: NtpContext): Report {
  const { fields, ntp, shape } = context;
  const { span } = fields.num_reduced_tp_dp_ranks;
  return {
    message: `num_reduced_tp_dp_ranks is ${ntp.numReducedTpDpRanks}, but there are ${countOf(shape.dp, 'replica')}. Use ${shape.dp} or fewer.`,
    span,
    predicts: ntpPrediction(context),
    fixes: [changeFix('num_reduced_tp_dp_ranks', span, shape.dp), ...failedPlans(context)],
  };
}
