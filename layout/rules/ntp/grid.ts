import { removeField } from '../../format/edit';
import { DEFAULT_ORDER } from '../../format/keys';
import type { Field } from '../../format/spec';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { parallelismDims } from '../../topology/generators';
import { isNtpGrid } from '../../topology/ntp';
import { changeFix, replaceFix, suggestion } from '../fixes';
import { example, type Found, LAST_SLOT, type NtpContext, type NtpPage } from './ntpContext';

export const ntpModules: NtpPage = {
  code: 'ntp-modules',
  severity: 'error',
  title: 'Nonuniform TP beside modules',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`ntp` stands in a file of `modules`.',
  why: 'The helper computes ranks of one grid that begins at rank 0; with several grids it would rebuild the groups of other ranks.',
  failing: 'layout: 1\nworld_size: 8\nmodules: {language: {num_ranks: 8, tp: 4}}\nntp: {tp_spares: 1}\n',
  passing: 'layout: 1\nworld_size: 8\nmodules: {language: {num_ranks: 8, tp: 4}}\n',
};

/** What is wrong with `ntp` in a file of `modules`: that it is there. */
export function modulesReport({ text, root }: LayoutFacts): Found {
  return [
    ntpModules.code,
    {
      message:
        'Nonuniform TP assumes one grid from rank 0, so it cannot stand beside `modules`. Remove it, or use `parallelism`.',
      span: root.ntp.keySpan,
      related: [{ message: '`modules` stands here', span: root.modules.keySpan }],
      fixes: [suggestion('Remove `ntp`', [removeField(text, root.ntp)])],
    },
  ];
}

export const ntpPipeline: NtpPage = {
  code: 'ntp-pipeline',
  severity: 'error',
  title: 'Nonuniform TP with a pipeline',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`tp_spares` is above 0 and `pp` above 1.',
  why: 'Only the first stage of a reduced replica is reconfigured; later stages keep pipeline groups with ranks that have left.',
  failing: example(LAST_SLOT, 'tp: 4, pp: 2', 16),
  passing: example(LAST_SLOT),
};

export const ntpGrid: NtpPage = {
  code: 'ntp-grid',
  severity: 'error',
  title: 'Nonuniform TP on a grid that it does not know',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`order` does not put `tp`, `cp` and `dp` in that order, or generalized TP is used.',
  why: 'The helper computes global ranks from the places in the default order; in another one it rebuilds the groups of other ranks.',
  failing: example(LAST_SLOT, 'tp: 4, order: dp-tp-cp-ep-pp'),
  passing: example(LAST_SLOT),
};

/** The helper computes ranks of a grid in the order tp, cp, dp, in one stage, without generalized TP. */
export function* gridReports(context: NtpContext): Iterable<Found> {
  const { keySpan, pp, module } = context;
  if (pp === 1) {
    yield* orderReports(context);
    return;
  }
  const { span } = module.fields.pp;
  yield [
    ntpPipeline.code,
    {
      message: `With pp ${pp} only the first stage of a reduced replica would be reconfigured; the others would keep groups with ranks that have left. Use pp 1.`,
      span,
      related: [{ message: 'nonuniform TP is asked for here', span: keySpan }],
      fixes: [changeFix('pp', span, 1)],
    },
  ];
}

function* orderReports({ facts: { root }, keySpan, module }: NtpContext): Iterable<Found> {
  const dense = parallelismDims(root, module)?.dense ?? [];
  if (isNtpGrid(dense)) {
    return;
  }
  const names = dense.filter(({ size }) => size > 1).map(({ name }) => name);
  const gtp = names.includes('gtp_remat');
  const order = root.parallelism.value?.order;
  const field = gtp ? shardField(module) : order;
  yield [
    ntpGrid.code,
    {
      message: gtp
        ? 'Nonuniform TP knows nothing of generalized TP: it would rebuild the groups of other ranks. Use gtp_remat 1.'
        : `Nonuniform TP takes ranks to lie in the order tp, cp, dp, but here it is ${names.join(', ')}: it would rebuild the groups of other ranks. Use the default order.`,
      span: field?.span ?? keySpan,
      related: [{ message: 'nonuniform TP is asked for here', span: keySpan }],
      fixes: gtp || !order?.written ? [] : [replaceFix(order.span, DEFAULT_ORDER)],
    },
  ];
}

function shardField({ fields }: ModuleFacts): Field<number> {
  return fields.num_weight_shards.written ? fields.num_weight_shards : fields.gtp_remat;
}

export const ntpExpertGroups: NtpPage = {
  code: 'ntp-expert-groups',
  severity: 'error',
  title: 'Nonuniform TP with expert parallelism',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`tp_spares` is above 0 and `ep` above 1.',
  why: 'Expert groups are never rebuilt, so ranks that stay wait in them for ranks that have left.',
  failing: example(LAST_SLOT, 'tp: 4, ep: 2, expt_tp: 1'),
  passing: example(LAST_SLOT),
};

/** Expert groups are never rebuilt. */
export function* expertReports({ ep, module, keySpan, ntp }: NtpContext): Iterable<Found> {
  if (ep > 1 && ntp.placement === 'nominal') {
    const { span } = module.fields.ep;
    yield [
      ntpExpertGroups.code,
      {
        message: `Expert groups are not rebuilt: with ep ${ep} ranks that stay keep groups with ranks that have left, and hang in the first MoE layer. Use ep 1.`,
        span,
        related: [{ message: 'nonuniform TP is asked for here', span: keySpan }],
        fixes: [changeFix('ep', span, 1)],
      },
    ];
  }
}
