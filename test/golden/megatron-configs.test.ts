import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { goldenText, layoutText } from './golden';

type Arguments = Readonly<Record<string, number | string | boolean>>;

interface Config {
  readonly test_case: string;
  readonly args: Arguments;
  /** The worlds on which the test runs, and what is worth knowing of it there. */
  readonly static_check?: Readonly<Record<string, { readonly notes: readonly string[] }>>;
}

const configs = JSON.parse(goldenText('megatron_configs.json')) as readonly Config[];

/** Layers laid out by a pattern or a layout of their own have no key. */
const hasPlainLayers = ({ args }: Config): boolean =>
  !('hybrid_layer_pattern' in args) && !('pipeline_model_parallel_layout' in args) && !('encoder_num_layers' in args);

function textOf(config: Config, world_size: number): string {
  const { args } = config;
  const perStage = Number(args.num_layers_per_virtual_pipeline_stage ?? 0);
  const pp = Number(args.pipeline_model_parallel_size ?? 1);
  return layoutText({
    name: config.test_case,
    world_size,
    parallelism: {
      tp: args.tensor_model_parallel_size,
      pp,
      vpp: perStage > 0 && pp > 1 ? Number(args.num_layers) / pp / perStage : null,
      microbatch_group_size_per_vp_stage: args.microbatch_group_size_per_virtual_pipeline_stage,
      cp: args.context_parallel_size,
      ep: args.expert_model_parallel_size,
      expt_tp: args.expert_tensor_parallel_size,
      num_distributed_optimizer_instances: args.num_distributed_optimizer_instances,
      order: args.use_tp_pp_dp_mapping ? 'tp-cp-ep-pp-dp' : null,
    },
    model: hasPlainLayers(config)
      ? {
          num_layers: args.num_layers,
          num_attention_heads: args.num_attention_heads,
          num_query_groups: args.group_query_attention ? args.num_query_groups : null,
          hidden_size: args.hidden_size,
          ffn_hidden_size: args.ffn_hidden_size,
          num_experts: args.num_experts,
        }
      : null,
    batch: { micro_batch_size: args.micro_batch_size, global_batch_size: args.global_batch_size },
  });
}

const runs = configs.flatMap((config) =>
  Object.keys(config.static_check ?? {}).map((world) => ({ name: config.test_case, world: Number(world), config })),
);

describe("sizes of Megatron-LM's own functional tests", () => {
  test('there are many', () => {
    expect(runs.length).toBeGreaterThan(10);
  });

  test.each(runs)('$name on $world ranks has no error', ({ config, world }) => {
    const { diagnostics } = check(textOf(config, world));
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });
});
