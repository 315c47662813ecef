import { DEFAULT_ORDER } from '../../format/keys';
import { parallelismDims } from '../../topology/generators';
import { changeFix } from '../fixes';
import type { Report } from '../rule';
import { example, LAST_SLOT, ntpRule } from './example';
import { type NtpContext, ntpRelated } from './ntpContext';
import { atStep } from './steps';

export const ntpGrid = ntpRule({
  code: 'ntp-grid',
  severity: 'error',
  title: 'Nonuniform TP on an unsupported grid',
  effect: 'groups are rebuilt for the wrong ranks',
  what: '`order` does not put `tp`, `cp` and `dp` in that order, or generalized TP is used.',
  why: 'The helper computes global ranks for the default order, whatever order the job has.',
  failing: example(LAST_SLOT, 'tp: 4, order: dp-tp-cp-ep-pp'),
  check: atStep('grid', function* (context) {
    if (context.pp === 1) {
      yield gridReport(context);
    }
  }),
});

function gridReport(context: NtpContext): Report {
  const { root } = context.facts;
  const { num_weight_shards: shards, gtp_remat } = context.module.fields;
  const dims = parallelismDims(root, context.module)?.dense ?? [];
  const names = dims.filter(({ size }) => size > 1).map(({ name }) => name);
  const gtp = names.includes('gtp_remat');
  const order = root.parallelism.value?.order;
  return {
    message: gtp
      ? 'Nonuniform TP does not know generalized TP: it rebuilds the groups of other ranks. Use gtp_remat 1.'
      : `Nonuniform TP takes ranks in the order tp, cp, dp; here they lie in the order ${names.join(', ')}. Use the default order.`,
    span: (gtp ? (shards.written ? shards : gtp_remat) : order)?.span ?? context.keySpan,
    related: ntpRelated(context),
    fixes: [gtp ? null : changeFix('order', order, DEFAULT_ORDER)],
  };
}
