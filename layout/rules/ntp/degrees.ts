import { grouped } from '../../format/quantities';
import { activeSlots, MAX_TP_BASE } from '../../topology/ntp';
import { changeFix } from '../fixes';
import { countOf } from '../numbers';
import type { Report } from '../rule';
import { example, type Found, LAST_SLOT, type NtpContext, type NtpPage } from './ntpContext';

const MOST = grouped(MAX_TP_BASE);

export const ntpBase: NtpPage = {
  code: 'ntp-base',
  severity: 'error',
  title: 'A tp_base that is not tp',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: `\`tp_base\` differs from \`tp\`, or is above ${MOST}.`,
  why: 'Nothing compares them. The new groups would be cut from other ranks than the replicas have. Nonuniform TP is for the slots of one NVLink domain, and no domain has so many GPUs.',
  failing: example('tp_base: 8, tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  passing: example(LAST_SLOT),
};

export const ntpSpares: NtpPage = {
  code: 'ntp-spares',
  severity: 'error',
  title: 'Spares that leave no active rank',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`tp_spares` is not less than `tp_base`.',
  why: 'A replica without an active rank has no group: torch refuses the empty list on every rank.',
  failing: example('tp_spares: 4, non_active_ranks_per_dp: [{dp: 0, local_ranks: [0, 1, 2, 3]}]'),
  passing: example(LAST_SLOT),
};

export const ntpReplicaRange: NtpPage = {
  code: 'ntp-replica-range',
  severity: 'error',
  title: 'A replica that does not exist',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`dp`, `cp` or `pp` of an entry is outside the grid, or `num_reduced_tp_dp_ranks` is more than `dp`.',
  why: 'Groups would be asked for outside the world, or entries silently ignored.',
  failing: example('tp_spares: 1, num_reduced_tp_dp_ranks: 3, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  passing: example(LAST_SLOT),
};

/** What is wrong with the sizes, before any entry is looked at. */
export function* settingReports(context: NtpContext): Iterable<Found> {
  const { fields, tp, ntp, shape } = context;
  const base = baseReport(context);
  if (base) {
    yield [ntpBase.code, base];
  } else if (ntp.tpSpares >= ntp.tpBase) {
    yield [
      ntpSpares.code,
      {
        message: `tp_spares ${ntp.tpSpares} leave no active rank of tp ${tp}. Use ${tp - 1} or fewer.`,
        span: fields.tp_spares.span,
        // of torch, for a group without a member
        predicts: ntp.placement === 'nominal' ? 'Group rank must be specified for group members' : null,
        fixes: tp > 1 ? [changeFix('tp_spares', fields.tp_spares.span, tp - 1)] : [],
      },
    ];
  }
  if (ntp.numReducedTpDpRanks > shape.dp) {
    yield [
      ntpReplicaRange.code,
      {
        message: `num_reduced_tp_dp_ranks is ${ntp.numReducedTpDpRanks}, but there are ${countOf(shape.dp, 'replica')}. Use ${shape.dp} or fewer.`,
        span: fields.num_reduced_tp_dp_ranks.span,
        predicts: base ? null : outsidePrediction(context),
        fixes: [changeFix('num_reduced_tp_dp_ranks', fields.num_reduced_tp_dp_ranks.span, shape.dp)],
      },
    ];
  }
}

/** What torch says of the first group of the first replica that does not exist. */
function outsidePrediction({ ntp, shape, tp }: NtpContext): string | null {
  const [slot] = activeSlots(ntp, shape.dp, 0, 0);
  const world = tp * shape.cp * shape.dp;
  return slot === undefined || ntp.placement === 'packed'
    ? null
    : `Rank ${world + slot} is out of range. Valid ranks are 0 to ${world - 1} (world_size=${world})`;
}

function baseReport({ fields, tp, module, ntp }: NtpContext): Report | null {
  const related = module.fields.tp.written ? [{ message: `tp is ${tp} here`, span: module.fields.tp.span }] : [];
  const { span } = fields.tp_base;
  if (ntp.tpBase !== tp) {
    return {
      message: `tp_base is ${ntp.tpBase}, but tp is ${tp}: the new groups would not be those of the replicas. Write tp_base ${tp}, or leave it out.`,
      span,
      related,
      fixes: [changeFix('tp_base', span, tp)],
    };
  }
  return ntp.tpBase > MAX_TP_BASE
    ? {
        message: `Nonuniform TP is for the slots of one NVLink domain, and none has ${countOf(tp, 'GPU')}. Use tp ${MOST} or less.`,
        span,
        related,
      }
    : null;
}
