import type { Related, Span } from '../../diagnostic';
import type { NtpKeys } from '../../format/keys';
import { type Field, type Section, valuesOf } from '../../format/spec';
import { memoizeRecent } from '../../memoize';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import type { NtpShape } from '../../topology/ntp';
import { resolveNtp } from '../../topology/resolve';
import type { ResolvedNtp } from '../../topology/resolved';

/** Everything that the rules on nonuniform TP read. */
export interface NtpContext {
  readonly facts: LayoutFacts;
  readonly text: string;
  readonly fields: Section<NtpKeys>;
  readonly keySpan: Span;
  readonly span: Span;
  readonly module: ModuleFacts;
  readonly tp: number;
  readonly ep: number;
  readonly pp: number;
  readonly shape: NtpShape;
  readonly ntp: ResolvedNtp;
}

function contextOf(facts: LayoutFacts): NtpContext | null {
  const { ntp: section } = facts.root;
  const [module] = facts.modules;
  const fields = section.value;
  const ntp = resolveNtp(facts);
  if (facts.heterogeneous || !fields || !ntp || !module?.degrees || module.dp === undefined || !allReadable(fields)) {
    return null;
  }
  const { tp, cp, pp, ep } = module.degrees;
  const shape = { cp, dp: module.dp };
  const { keySpan, span } = section;
  return { facts, text: facts.text, fields, keySpan, span, module, tp, ep, pp, shape, ntp };
}

/** Whether every written value could be read; another diagnostic says so where not. */
function allReadable(fields: Section<NtpKeys>): boolean {
  const { tp_base, tp_spares, num_reduced_tp_dp_ranks, non_active_ranks_per_dp, failed_ranks } = fields;
  const isReadable = ({ written, value }: Field<unknown>) => !written || value !== undefined;
  return (
    [tp_base, tp_spares, num_reduced_tp_dp_ranks, non_active_ranks_per_dp, failed_ranks].every(isReadable) &&
    (failed_ranks.value ?? []).every(isReadable) &&
    (non_active_ranks_per_dp.value ?? []).every(({ value }) => value?.dp.value !== undefined)
  );
}

/** The context of a file; null where nonuniform TP is off or a number that it needs is open. */
export const ntpContext: (facts: LayoutFacts) => NtpContext | null = memoizeRecent(contextOf);

/** The numbers of a list of fields, ascending. */
export function sortedValues(fields: readonly Field<number>[] | undefined): number[] {
  return valuesOf(fields).sort((a, b) => a - b);
}

/** Whether the model has MoE layers, whose groups are in use also without expert parallelism. */
export function hasExperts({ model }: ModuleFacts): boolean {
  return model.value?.num_experts.written ?? false;
}

/** Where a file asks for nonuniform TP. */
export function ntpRelated({ keySpan }: NtpContext): readonly Related[] {
  return [{ message: 'ntp is written here', span: keySpan }];
}
