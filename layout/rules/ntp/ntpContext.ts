import type { Span } from '../../diagnostic';
import type { NtpKeys } from '../../format/keys';
import { type Field, type Section, valuesOf } from '../../format/spec';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import type { NtpShape } from '../../topology/ntp';
import { resolveNtp } from '../../topology/resolve';
import type { ResolvedNtp } from '../../topology/resolved';
import { both } from '../numbers';
import type { Report, Rule } from '../rule';

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

/** A report with the code of the rule that it belongs to: one pass over the file serves all rules of this family. */
export type Found = readonly [code: string, report: Report];

/** The page of one rule of this family. */
export type NtpPage = Omit<Rule, 'sources' | 'check'>;

/** No fix writes more slots of one replica than this. */
export const MAX_REPLICA_SLOTS = 128;

/** The context, or null where nonuniform TP is off or a number that it needs is open. */
export function contextOf(facts: LayoutFacts): NtpContext | null {
  const { ntp: section } = facts.root;
  const [module] = facts.modules;
  const fields = section.value;
  const ntp = resolveNtp(facts);
  if (!fields || !ntp || !module?.degrees || module.dp === undefined || !allReadable(fields)) {
    return null;
  }
  const { tp, cp, pp, ep } = module.degrees;
  const shape = { cp, dp: module.dp };
  const { keySpan, span } = section;
  return { facts, text: facts.text, fields, keySpan, span, module, tp, ep, pp, shape, ntp };
}

/** Whether every written value could be read; another diagnostic says so where not. */
function allReadable(fields: Section<NtpKeys>): boolean {
  const isReadable = ({ written, value }: Field<unknown>) => !written || value !== undefined;
  return (
    [fields.tp_base, fields.tp_spares, fields.num_reduced_tp_dp_ranks].every(isReadable) &&
    (fields.failed_ranks.value ?? []).every(isReadable) &&
    (fields.non_active_ranks_per_dp.value ?? []).every(isReadable)
  );
}

/** The numbers of a list of fields, ascending. */
export function sortedValues(fields: readonly Field<number>[] | undefined): number[] {
  return valuesOf(fields).sort((a, b) => a - b);
}

/** Ascending slots in words: `0 to 5 and 7`. */
export function slotText(slots: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const slot of slots) {
    const run = runs.at(-1);
    if (run && run[1] === slot - 1) {
      run[1] = slot;
    } else {
      runs.push([slot, slot]);
    }
  }
  const words = runs.flatMap(([first, last]) =>
    last - first > 1 ? [`${first} to ${last}`] : first < last ? [`${first}`, `${last}`] : [`${first}`],
  );
  return both(words);
}

/** A file of two replicas of tp 4 with the given settings of `ntp`. */
export function example(settings: string, degrees = 'tp: 4', world = 8, more = ''): string {
  return `layout: 1
world_size: ${world}
parallelism: {${degrees}}
${more}ntp: {${settings}}
`;
}

/** Settings with which nothing is wrong: the last slot of the first replica leaves. */
export const LAST_SLOT = 'tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]';
