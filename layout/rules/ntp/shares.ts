import type { Field } from '../../format/spec';
import { spareCount } from '../../topology/ntp';
import { canFold } from '../../topology/reshard';
import { countOf } from '../numbers';
import type { Found, NtpContext, NtpPage } from './ntpContext';
import { example, LAST_SLOT } from './ntpContext';

export const ntpUnevenShards: NtpPage = {
  code: 'ntp-uneven-shards',
  severity: 'warning',
  title: 'Sizes that the active slots do not share evenly',
  effect: 'the job runs, but slowly or not as the author thinks',
  what: '`num_attention_heads`, `ffn_hidden_size` or `vocab_size` (padded for `tp` as Megatron-LM does) is not a multiple of `tp_base - tp_spares`. It is an error where the reshard maps then fail.',
  why: 'Some active ranks hold more than others; each step waits for the slowest. Heads and feed-forward columns of the spare slots are folded onto the others, which stops with an IndexError where a slot has none left to give.',
  failing: example(LAST_SLOT, 'tp: 4', 8, 'model: {num_attention_heads: 16}\n'),
  passing: example(LAST_SLOT, 'tp: 4', 8, 'model: {num_attention_heads: 24}\n'),
};

/** By what Megatron-LM pads a vocabulary on each rank (`--make-vocab-size-divisible-by`). */
const VOCAB_STEP = 128;

/** Sizes that do not split evenly over the full and the reduced TP size. */
export function* unevenReports({ module, ntp, tp }: NtpContext): Iterable<Found> {
  const model = module.model.value;
  const reduced = ntp.tpBase - ntp.tpSpares;
  const sizes: readonly [name: string, field: Field<number> | undefined, step: number][] = [
    ['num_attention_heads', model?.num_attention_heads, 1],
    ['ffn_hidden_size', model?.ffn_hidden_size, 1],
    ['vocab_size', model?.vocab_size, VOCAB_STEP * tp],
  ];
  for (const [name, field, step] of sizes) {
    const size = Math.ceil((field?.value ?? 0) / step) * step;
    // what tp itself does not divide is another diagnostic
    if (!field?.written || size % reduced === 0 || size % ntp.tpBase !== 0) {
      continue;
    }
    const least = Math.floor(size / reduced);
    const fails = step === 1 && !canFold(ntp.tpBase, ntp.tpSpares, size);
    const padded = size === field.value ? '' : `, padded to ${size},`;
    const effect = fails ? 'The reshard maps fail with an IndexError.' : 'The slowest sets the pace.';
    yield [
      ntpUnevenShards.code,
      {
        severity: fails ? 'error' : 'warning',
        message: `${name} ${field.value}${padded} does not divide among the ${reduced} active slots: some would hold ${least + 1}, others ${least}. ${effect}`,
        span: field.span,
      },
    ];
  }
}

export const ntpCost: NtpPage = {
  code: 'ntp-cost',
  severity: 'information',
  title: 'What nonuniform TP costs',
  effect: 'a fact worth knowing',
  what: '`tp_spares` is above 0.',
  why: 'Going on with fewer ranks keeps more of the job than dropping a whole replica, but the spare GPUs idle. A reduced replica takes as many whole sequences of its batch as its share of the ranks allows.',
  failing: example(LAST_SLOT),
  passing: example('tp_spares: 0'),
};

/** What the choice costs, against dropping the replicas that are hit. */
export function* costReports(context: NtpContext): Iterable<Found> {
  const { ntp, shape, keySpan, tp } = context;
  const hit = Math.min(ntp.numReducedTpDpRanks, shape.dp);
  const gpus = tp * shape.cp * shape.dp;
  const left = ntp.tpBase - ntp.tpSpares;
  const batch = sequencesOf(context);
  const taken = batch === null ? null : Math.floor((batch * left) / ntp.tpBase);
  const share = batch === null || taken === null ? left / ntp.tpBase : taken / batch;
  const kept = percent(1 - (hit * (1 - share)) / shape.dp);
  const how =
    batch === null
      ? `about ${kept} of compute is kept`
      : `${hit === 1 ? 'it takes' : 'each takes'} ${taken} of its ${countOf(batch, 'sequence')} a step, which keeps ${kept} of compute`;
  const message = `${countOf(hit, 'replica')} of ${shape.dp} ${hit === 1 ? 'runs' : 'run'} with tp ${left} in place of ${ntp.tpBase}: ${spareCount(ntp, shape)} of ${gpus} GPUs idle, ${how}; dropping the ${hit === 1 ? 'replica' : 'replicas'} would keep ${percent(1 - hit / shape.dp)}.`;
  yield [ntpCost.code, { message, span: keySpan }];
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** The sequences that one replica takes in a step; null where the file does not say. */
function sequencesOf({ facts, shape }: NtpContext): number | null {
  const batch = facts.root.batch.value?.global_batch_size.value;
  return batch !== undefined && batch % shape.dp === 0 ? batch / shape.dp : null;
}
