import { setKey } from '../../format/edit';
import { MAX_WRITTEN_SLOTS } from '../../topology/ntp';
import { suggestion } from '../fixes';
import { writtenRelated } from '../related';
import type { Report } from '../rule';
import { example, ntpRule } from './example';
import { type EntryFault, faultsOfKind } from './faults';
import type { NtpContext } from './ntpContext';
import { entriesEdit } from './slots';
import { atStep } from './steps';

export const ntpUnappliedEntry = ntpRule({
  code: 'ntp-unapplied-entry',
  severity: 'error',
  title: 'An entry for a replica that is not reduced',
  effect: 'the groups and the reshard maps disagree',
  what: 'An entry names a replica at or beyond `num_reduced_tp_dp_ranks`, or a place that another entry names already.',
  why: 'Its groups stay full, with the broken GPUs in them, while the reshard maps treat it as reduced. Of two entries for one place only one is read.',
  failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}, {dp: 1, local_ranks: [3]}]'),
  check: atStep('entries', function* (context) {
    for (const fault of faultsOfKind(context, 'repeated', 'unapplied')) {
      yield fault.kind === 'unapplied'
        ? unappliedReport(context, fault)
        : {
            message: `Replica dp ${fault.dp} has an entry already, and only one of them is read. Keep one.`,
            span: fault.entry.dp.span,
          };
    }
  }),
});

type Unapplied = Extract<EntryFault, { kind: 'repeated' | 'unapplied' }>;

function unappliedReport(context: NtpContext, { entry, dp }: Unapplied): Report {
  const { ntp, fields, text, span } = context;
  const count = fields.num_reduced_tp_dp_ranks;
  const change = setKey(text, span, 'num_reduced_tp_dp_ranks', count, dp + 1);
  const named = new Set(ntp.nonActive?.map((one) => one.dp));
  const before = Array.from({ length: Math.min(dp, MAX_WRITTEN_SLOTS) }, (_, i) => i).filter((i) => !named.has(i));
  return {
    message: `Replica dp ${dp} keeps its full TP group, since num_reduced_tp_dp_ranks is ${ntp.numReducedTpDpRanks}; yet its ranks count as reduced. Use num_reduced_tp_dp_ranks ${dp + 1}, with an entry for each replica up to it, or drop the entry.`,
    span: entry.dp.span,
    related: writtenRelated('num_reduced_tp_dp_ranks', count),
    fixes: [
      suggestion(`Change num_reduced_tp_dp_ranks to ${dp + 1}`, [change]),
      // the replicas before it are reduced, too, and each of them needs an entry
      suggestion(`Reduce replicas 0 to ${dp}`, [change, dp <= MAX_WRITTEN_SLOTS ? entriesEdit(context, before) : null]),
    ],
  };
}
