import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import {
  checkSpellings,
  coversPattern,
  hybridPlan,
  mergedPattern,
} from '../../layout/topology/pipeline/hybrid-pattern';
import { attempt } from '../../layout/topology/python';
import { type GoldenError, layoutText, loadGolden, predictions } from './golden';

interface Input {
  readonly pattern: string;
  readonly pp: number;
  readonly world_size: number;
  readonly flags: Readonly<Record<string, number | boolean | string | readonly string[]>>;
}

interface Expect {
  readonly num_layers: number;
  readonly virtual_pipeline_model_parallel_size: number | null;
  readonly mtp_num_layers: number | null;
  readonly mtp_pattern: string | null;
  readonly layers: unknown;
  readonly layers_cover_model: boolean;
}

const number = (value: unknown) => (typeof value === 'number' ? value : null);
const word = (value: unknown) => (typeof value === 'string' ? value : null);

describe('hybrid_layer_pattern', () => {
  /** What the plan of the layers alone decides; the whole file is judged below. */
  const isOfLayers = ({ error }: { readonly error: GoldenError | null }) =>
    !/^Multi-Token|^DSA uses|has no attribute/.test(error?.message ?? '');

  test.each(loadGolden<Input, Expect>('hybrid_pattern').filter(isOfLayers))(
    '$id',
    ({ input, ok, error, expect: golden }) => {
      const { flags, pp, pattern } = input;
      const layout = flags.pipeline_model_parallel_layout;
      const spellings = {
        pattern,
        former: word(flags.hybrid_override_pattern),
        depth: word(flags.mtp_hybrid_override_pattern),
        depths: number(flags.mtp_num_layers),
      };
      const result = attempt(() => {
        checkSpellings(spellings);
        return hybridPlan(
          mergedPattern(spellings) ?? '',
          {
            pp,
            vpp: number(flags.num_virtual_stages_per_pipeline_rank),
            first: number(flags.decoder_first_pipeline_num_layers),
            last: number(flags.decoder_last_pipeline_num_layers),
            accountForEmbedding: flags.account_for_embedding_in_pipeline_split === true,
            accountForLoss: flags.account_for_loss_in_pipeline_split === true,
            mtp: number(flags.mtp_num_layers),
            layout: typeof layout === 'string' ? layout : null,
          },
          number(flags.num_layers_per_virtual_pipeline_stage),
        );
      });
      if (!result.ok) {
        expect(ok).toBe(false);
        expect(result.error.message).toBe(error?.message);
      } else if (ok) {
        const { numLayers, vpp, mtp, pattern: parts, stages } = result.value;
        expect({ numLayers, vpp, mtp, parts: parts.mtp, stages }).toEqual({
          numLayers: golden.num_layers,
          vpp: golden.virtual_pipeline_model_parallel_size,
          mtp: golden.mtp_num_layers,
          parts: golden.mtp_pattern ?? '',
          stages: golden.layers,
        });
        expect(coversPattern(result.value)).toBe(golden.layers_cover_model);
      } else {
        // a model without layers dies of a division by zero
        expect(error?.origin).toBe('python');
        expect(result.value.numLayers).toBe(0);
      }
    },
  );
});

describe('hybrid_layer_pattern in layout files', () => {
  const cases = loadGolden<Input, Expect>('hybrid_pattern');

  /** The layout of a case: `pattern` and the flags that a file has keys for. */
  const fileOf = ({ pattern, pp, world_size, flags }: Input): string =>
    layoutText({
      world_size,
      parallelism: {
        pp,
        vpp: flags.num_virtual_stages_per_pipeline_rank,
        num_layers_per_virtual_pipeline_stage: flags.num_layers_per_virtual_pipeline_stage,
        pipeline_model_parallel_layout: flags.pipeline_model_parallel_layout,
        account_for_embedding_in_pipeline_split: flags.account_for_embedding_in_pipeline_split,
        account_for_loss_in_pipeline_split: flags.account_for_loss_in_pipeline_split,
      },
      model: {
        hybrid_layer_pattern: pattern,
        hybrid_override_pattern: flags.hybrid_override_pattern,
        mtp_hybrid_override_pattern: flags.mtp_hybrid_override_pattern,
        multi_latent_attention: flags.multi_latent_attention,
        num_query_groups: flags.num_query_groups,
        position_embedding_type: flags.position_embedding_type ?? 'none',
        add_bias_linear: flags.disable_bias_linear !== true,
        num_layers: flags.num_layers,
        num_layers_in_first_pipeline_stage: flags.decoder_first_pipeline_num_layers,
        num_layers_in_last_pipeline_stage: flags.decoder_last_pipeline_num_layers,
        mtp_num_layers: flags.mtp_num_layers,
        num_experts: flags.num_experts,
        hidden_size: 64,
        num_attention_heads: 8,
      },
      sequence: { seq_length: 64 },
      batch: { micro_batch_size: 1 },
    });

  test.each(cases)('$id', ({ input, ok, error, expect: golden }) => {
    const found = predictions(check(fileOf(input)));
    if (ok && golden.layers_cover_model) {
      expect(found).toEqual([]);
    } else {
      expect(found).not.toEqual([]);
      if (error?.origin === 'megatron') {
        expect(found).toContain(error.message);
      }
    }
  });
});
