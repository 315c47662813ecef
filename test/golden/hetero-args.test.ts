import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { layoutText, loadGolden, predictions } from './golden';

interface Input {
  readonly world_size: number;
  readonly args: Readonly<Record<string, number | boolean | null>>;
}

interface Expect {
  readonly specs_error: { readonly message: string; readonly origin: string } | null;
}

/** Flags about overlapping communication are no part of a layout. */
const cases = loadGolden<Input, Expect>('hetero_args').filter(({ input }) => !input.args.encoder_ddp_overlap);

/** The layout of a job that is launched with these flags: sizes come from `dp`. */
function textOf({ world_size, args }: Input): string {
  const encoder = { tp: args.encoder_tp, dp: args.encoder_dp };
  const language = {
    rank_offset: args.llm_offset,
    tp: args.llm_tp,
    cp: args.llm_cp,
    pp: args.llm_pp,
    dp: args.llm_dp,
    ep: args.llm_ep,
    expt_tp: args.llm_expt_tp,
    num_weight_shards: args.tensor_parallel_num_weight_shards,
    expt_num_weight_shards: args.expert_tensor_parallel_num_weight_shards,
    model: args.num_experts ? { num_experts: args.num_experts } : null,
  };
  const modules = args.llm_only ? { language } : { images: encoder, language };
  return layoutText({ world_size, modules, batch: { micro_batch_size: args.micro_batch_size } });
}

describe('layouts of the flags of examples/mimo', () => {
  test.each(cases)('$id', ({ id, input, ok, error, expect: golden }) => {
    const found = predictions(check(textOf(input)));
    const refusal = error ?? golden.specs_error;
    if (ok && !golden.specs_error) {
      expect(found).toEqual([]);
    } else {
      expect(found).not.toEqual([]);
      if (refusal?.origin === 'megatron' && !id.includes('odd')) {
        expect(found).toContain(refusal.message);
      }
    }
  });
});
