import { grouped } from '../../format/quantities';
import { MAX_TP_BASE } from '../../topology/ntp';
import { changeFix } from '../fixes';
import { countOf } from '../numbers';
import { writtenRelated } from '../related';
import { example, ntpRule } from './example';
import { atStep } from './steps';

const MOST = grouped(MAX_TP_BASE);

export const ntpBase = ntpRule({
  code: 'ntp-base',
  severity: 'error',
  title: 'tp_base differs from tp',
  effect: 'groups are cut from other ranks than the replicas have',
  what: `\`tp_base\` differs from \`tp\`, or is above ${MOST}.`,
  why: 'Megatron-LM does not compare the two. Nonuniform TP is for the slots of one NVLink domain, and no domain has so many GPUs.',
  failing: example('tp_base: 8, tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  check: atStep('sizes', function* (context) {
    const { fields, tp, module, ntp } = context;
    const { span } = fields.tp_base;
    const related = writtenRelated('tp', module.fields.tp);
    if (ntp.tpBase !== tp) {
      yield {
        message: `tp_base is ${ntp.tpBase}, but tp is ${tp}. Write tp_base ${tp}, or leave it out.`,
        span,
        related,
        fixes: [changeFix('tp_base', fields.tp_base, tp)],
      };
    } else if (ntp.tpBase > MAX_TP_BASE) {
      yield {
        message: `Nonuniform TP is for the slots of one NVLink domain, and none has ${countOf(tp, 'GPU')}. Use tp ${MOST} or less.`,
        span,
        related,
      };
    }
  }),
});
