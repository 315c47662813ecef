import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { layoutText, loadGolden, predictions } from './golden';

interface Input {
  readonly tensor_model_parallel_size: number;
  readonly tensor_parallel_num_weight_shards: number | null;
  readonly gtp_weight_remat_size: number;
  readonly expert: boolean;
}

interface Expect {
  readonly gtp_weight_remat_size: number;
}

/** A layout whose world holds the shards, dense or expert. */
function textOf(input: Input, remat: number): string {
  const { tensor_model_parallel_size: tp, tensor_parallel_num_weight_shards: shards, expert } = input;
  const world_size = tp * remat;
  const parallelism = expert
    ? { expt_tp: tp, expt_num_weight_shards: shards, expt_gtp_remat: input.gtp_weight_remat_size }
    : { tp, num_weight_shards: shards, gtp_remat: input.gtp_weight_remat_size };
  return layoutText({ world_size, parallelism, batch: { micro_batch_size: 1, global_batch_size: world_size } });
}

describe('resolve_tensor_parallel_weight_shards', () => {
  test.each(loadGolden<Input, Expect>('gtp_args'))('$id', ({ id, input, ok, error, expect: golden }) => {
    const checked = check(textOf(input, ok ? golden.gtp_weight_remat_size : 1));
    if (ok && id.includes('odd')) {
      // a degree of 0 beside a number of shards: Megatron-LM does not look at it
      expect(predictions(checked)).not.toEqual([]);
    } else if (ok) {
      expect(predictions(checked)).toEqual([]);
      const degrees = checked.facts?.modules[0]?.degrees;
      expect(input.expert ? degrees?.exptGtpRemat : degrees?.gtpRemat).toBe(golden.gtp_weight_remat_size);
    } else {
      expect(predictions(checked)).toContain(error?.message);
    }
  });
});
