import { MAX_TP_BASE } from '../../topology/ntp';
import { changeFix } from '../fixes';
import { example, LAST_SLOT, ntpRule } from './example';
import { atStep } from './steps';

export const ntpSpares = ntpRule({
  code: 'ntp-spares',
  severity: 'error',
  title: 'tp_spares leaves no active rank',
  effect: 'torch refuses the empty groups on every rank',
  what: '`tp_spares` is not less than `tp_base`.',
  why: 'A replica without an active rank has no group.',
  failing: example('tp_spares: 4, non_active_ranks_per_dp: [{dp: 0, local_ranks: [0, 1, 2, 3]}]'),
  passing: example(LAST_SLOT),
  check: atStep('sizes', function* (context) {
    const { fields, tp, ntp } = context;
    // a wrong base comes first
    if (ntp.tpBase === tp && ntp.tpBase <= MAX_TP_BASE && ntp.tpSpares >= ntp.tpBase) {
      yield {
        message: `tp_spares ${ntp.tpSpares} leaves no active rank of tp ${tp}. Use ${tp - 1} or fewer.`,
        span: fields.tp_spares.span,
        fixes: [tp > 1 ? changeFix('tp_spares', fields.tp_spares, tp - 1) : null],
      };
    }
  }),
});
