import type { Fix } from '../../diagnostic';
import type { Field } from '../../format/spec';
import { canFold } from '../../topology/reshard';
import type { ResolvedNtp } from '../../topology/resolved';
import type { Report } from '../rule';
import { example, LAST_SLOT, ntpRule } from './example';
import { failedPlans } from './failedPlans';
import { contextAt } from './steps';

export const ntpUnevenShards = ntpRule({
  code: 'ntp-uneven-shards',
  severity: 'warning',
  title: 'The active slots cannot share a size evenly',
  effect: 'each step waits for the fullest rank, or the reshard maps fail',
  what: '`num_attention_heads`, `ffn_hidden_size` or `vocab_size` (padded for `tp` as Megatron-LM does) is not a multiple of `tp_base - tp_spares`. It is an error where the reshard maps then fail.',
  why: 'Heads and feed-forward columns of the spare slots are folded onto the active ones. That stops with an IndexError where a slot has none left to give.',
  failing: example(LAST_SLOT, 'tp: 4', 8, 'model: {num_attention_heads: 16}'),
  passing: example(LAST_SLOT, 'tp: 4', 8, 'model: {num_attention_heads: 24}'),
  *check(facts) {
    const context = contextAt(facts, 'sound');
    if (!context) {
      return;
    }
    const { module, ntp, tp } = context;
    const model = module.model.value;
    const plans = failedPlans(context);
    yield* unevenReports(ntp, 'num_attention_heads', model?.num_attention_heads, 1, plans);
    yield* unevenReports(ntp, 'ffn_hidden_size', model?.ffn_hidden_size, 1, plans);
    yield* unevenReports(ntp, 'vocab_size', model?.vocab_size, VOCAB_STEP * tp, []);
  },
});

/** By what Megatron-LM pads a vocabulary on each rank (`--make-vocab-size-divisible-by`). */
const VOCAB_STEP = 128;

/**
 * A size that does not split evenly over the reduced TP size.
 * @param step what Megatron-LM pads the size to a multiple of
 * @param plans what takes the failed ranks out, if the reshard maps fail
 */
function* unevenReports(
  { tpBase, tpSpares }: ResolvedNtp,
  name: string,
  field: Field<number> | undefined,
  step: number,
  plans: readonly Fix[],
): Iterable<Report> {
  const size = Math.ceil((field?.value ?? 0) / step) * step;
  const reduced = tpBase - tpSpares;
  // what tp itself does not divide is another diagnostic
  if (!field?.written || size % reduced === 0 || size % tpBase !== 0) {
    return;
  }
  const least = Math.floor(size / reduced);
  const fails = step === 1 && !canFold(tpBase, tpSpares, size);
  const padded = size === field.value ? '' : ` (padded to ${size})`;
  // one active slot divides every size
  let even = tpSpares + 1;
  while (size % (tpBase - even) !== 0) {
    even++;
  }
  const effect = fails ? 'The reshard maps fail with an IndexError.' : 'Each step waits for the fullest.';
  yield {
    severity: fails ? 'error' : 'warning',
    message: `${name} ${field.value}${padded} does not divide among the ${reduced} active slots: some hold ${least + 1}, others ${least}. ${effect} Use tp_spares ${even} for equal shares.`,
    span: field.span,
    fixes: fails ? plans : [],
  };
}
