import { changes } from '../fixes';
import { countOf } from '../numbers';
import type { Report } from '../rule';
import { example, LAST_SLOT, ntpRule } from './example';
import { faultsOfKind } from './faults';
import type { NtpContext } from './ntpContext';
import { atStep } from './steps';

export const ntpReplicaRange = ntpRule({
  code: 'ntp-replica-range',
  severity: 'error',
  title: 'No such replica',
  effect: 'torch refuses ranks outside the world, or entries are ignored',
  what: '`dp`, `cp` or `pp` of an entry is outside the grid, or `num_reduced_tp_dp_ranks` is more than `dp`.',
  why: 'Megatron-LM does not compare these numbers with the grid.',
  failing: example('tp_spares: 1, num_reduced_tp_dp_ranks: 3, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  passing: example(LAST_SLOT),
  *check(facts) {
    yield* atStep('sizes', countReports)(facts);
    yield* atStep('entries', placeReports)(facts);
  },
});

function* countReports({ fields, ntp, shape }: NtpContext): Iterable<Report> {
  if (ntp.numReducedTpDpRanks > shape.dp) {
    yield {
      message: `num_reduced_tp_dp_ranks is ${ntp.numReducedTpDpRanks}, but there are ${countOf(shape.dp, 'replica')}. Use ${shape.dp} or fewer.`,
      ...changes('num_reduced_tp_dp_ranks', fields.num_reduced_tp_dp_ranks, shape.dp),
    };
  }
}

function* placeReports(context: NtpContext): Iterable<Report> {
  for (const { name, field, size } of faultsOfKind(context, 'outside')) {
    yield {
      message: `${name} ${field.value} does not exist: the grid has ${name} 0 ${size === 1 ? 'only' : `to ${size - 1}`}.`,
      ...changes(name, field, size - 1),
    };
  }
}
