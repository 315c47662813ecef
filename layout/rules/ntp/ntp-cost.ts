import { spareCount } from '../../topology/ntp';
import { countOf } from '../numbers';
import { example, LAST_SLOT, ntpRule } from './example';
import type { NtpContext } from './ntpContext';
import { contextAt } from './steps';

export const ntpCost = ntpRule({
  code: 'ntp-cost',
  severity: 'information',
  title: 'What nonuniform TP costs',
  effect: 'what nonuniform TP keeps of the job',
  what: '`tp_spares` is above 0.',
  why: 'Going on with fewer ranks keeps more of the job than dropping a whole replica, but the spare GPUs idle. A reduced replica takes as many whole sequences of its batch as its share of the ranks allows.',
  failing: example(LAST_SLOT),
  passing: example('tp_spares: 0'),
  *check(facts) {
    const context = contextAt(facts, 'sound');
    if (!context) {
      return;
    }
    const { ntp, shape, keySpan, tp } = context;
    const hit = Math.min(ntp.numReducedTpDpRanks, shape.dp);
    const left = ntp.tpBase - ntp.tpSpares;
    const batch = sequencesOf(context);
    const taken = batch === null ? null : Math.floor((batch * left) / ntp.tpBase);
    const share = batch === null || taken === null ? left / ntp.tpBase : taken / batch;
    const kept = percent(1 - (hit * (1 - share)) / shape.dp);
    const how =
      batch === null
        ? `About ${kept} of compute is kept`
        : `${hit === 1 ? 'It takes' : 'Each takes'} ${taken} of its ${countOf(batch, 'sequence')} a step, which keeps ${kept} of compute`;
    yield {
      message: `${hit} of ${countOf(shape.dp, 'replica')} ${hit === 1 ? 'runs' : 'run'} with tp ${left} in place of ${ntp.tpBase}: ${spareCount(ntp, shape)} of ${tp * shape.cp * shape.dp} GPUs idle. ${how}; dropping the ${hit === 1 ? 'replica' : 'replicas'} would keep ${percent(1 - hit / shape.dp)}.`,
      span: keySpan,
    };
  },
});

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** The sequences that one replica takes in a step; null where the file does not say. */
function sequencesOf({ facts, shape }: NtpContext): number | null {
  const batch = facts.root.batch.value?.global_batch_size.value;
  return batch !== undefined && batch % shape.dp === 0 ? batch / shape.dp : null;
}
