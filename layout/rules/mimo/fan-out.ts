import { LANGUAGE_MODULE } from '../../format/names';
import { gcd } from '../../grid/arithmetic';
import { changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { MIMO_ARGS, modules, type Rule } from '../rule';
import { mimoOf } from './mimo';

export const fanOut: Rule = {
  code: 'fan-out',
  severity: 'error',
  title: 'The encoder cannot share the micro-batch',
  effect: 'Megatron-LM stops when it reads the arguments',
  what: "For modules on ranks of their own: `micro_batch_size` times the language model's `dp` (and `gtp_remat`) is not divisible by an encoder's `dp`.",
  why: "Each step the encoder's replicas share the samples that the language model consumes.",
  failing: `${modules(8, 'images: {num_ranks: 4}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}')}batch: {micro_batch_size: 1, global_batch_size: 8}\n`,
  sources: [MIMO_ARGS],
  *check(facts) {
    const mimo = mimoOf(facts);
    const micro = facts.root.batch.value?.micro_batch_size;
    if (!mimo || mimo.colocated || micro?.value === undefined) {
      return;
    }
    const { dp, degrees } = mimo.language;
    for (const { name, dp: encoderDp, nameSpan } of mimo.encoders) {
      const gtp = degrees?.gtpRemat ?? 1;
      if (dp !== undefined && encoderDp !== undefined && (micro.value * dp * gtp) % encoderDp !== 0) {
        const step = encoderDp / gcd(encoderDp, dp * gtp);
        const sizes = nearestMultiples(step, micro.value);
        yield {
          message: `The ${encoderDp} replicas of '${name}' cannot share ${samplesText(micro.value, dp, gtp)} equally. Use micro_batch_size ${eitherNumber(sizes)}.`,
          ...changes('micro_batch_size', micro, ...sizes),
          related: [
            { message: `'${name}' has dp ${encoderDp}`, span: nameSpan },
            { message: `'${LANGUAGE_MODULE}' has dp ${dp}`, span: mimo.language.nameSpan },
          ],
          predicts: `--micro-batch-size * --llm-dp * GTP must be divisible by --encoder-dp (got ${micro.value} * ${dp} * ${gtp} % ${encoderDp} != 0)`,
        };
      }
    }
  },
};

/** What the language model takes at a time, with the factors above 1. */
function samplesText(micro: number, dp: number, gtp: number): string {
  const factors = [dp > 1 ? ` x dp ${dp}` : '', gtp > 1 ? ` x gtp_remat ${gtp}` : ''].join('');
  return `micro_batch_size ${micro}${factors}${factors === '' ? '' : ` = ${micro * dp * gtp} samples`}`;
}
