import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { type GoldenCase, layoutText, loadGolden, predictions } from './golden';

type Config = Readonly<Record<string, number | string | boolean | null>>;

interface Input {
  readonly kind: 'config' | 'args' | 'microbatches';
  readonly config?: Config;
  readonly world_size?: number;
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly global_batch_size?: number;
  readonly micro_batch_size?: number;
  readonly data_parallel_size?: number;
  readonly decrease_batch_size_if_needed?: boolean;
}

interface Expect {
  /** Layers built, by virtual stage and stage: [layers, offset]. */
  readonly layers?: readonly (readonly (readonly [number, number])[])[] | null;
  readonly layers_error?: { readonly message: string } | null;
}

type Case = GoldenCase<Input, Expect>;

/** Where the fields of TransformerConfig stand in a layout; the value is the section. */
const CONFIG_KEYS: Readonly<Record<string, readonly [section: string, key: string]>> = {
  num_layers: ['model', 'num_layers'],
  hidden_size: ['model', 'hidden_size'],
  num_attention_heads: ['model', 'num_attention_heads'],
  num_query_groups: ['model', 'num_query_groups'],
  num_moe_experts: ['model', 'num_experts'],
  moe_ffn_hidden_size: ['model', 'moe_ffn_hidden_size'],
  num_layers_in_first_pipeline_stage: ['model', 'num_layers_in_first_pipeline_stage'],
  num_layers_in_last_pipeline_stage: ['model', 'num_layers_in_last_pipeline_stage'],
  params_dtype: ['model', 'params_dtype'],
  tensor_model_parallel_size: ['parallelism', 'tp'],
  pipeline_model_parallel_size: ['parallelism', 'pp'],
  virtual_pipeline_model_parallel_size: ['parallelism', 'vpp'],
  context_parallel_size: ['parallelism', 'cp'],
  expert_model_parallel_size: ['parallelism', 'ep'],
  expert_tensor_parallel_size: ['parallelism', 'expt_tp'],
  sequence_parallel: ['sequence', 'sequence_parallel'],
  cp_comm_type: ['sequence', 'cp_comm_type'],
  kv_channels: ['model', 'kv_channels'],
  mtp_num_layers: ['model', 'mtp_num_layers'],
  add_bias_linear: ['model', 'add_bias_linear'],
  moe_router_num_groups: ['model', 'moe_router_num_groups'],
  moe_router_group_topk: ['model', 'moe_router_group_topk'],
  experimental_attention_variant: ['model', 'experimental_attention_variant'],
  linear_attention_freq: ['model', 'linear_attention_freq'],
  linear_num_key_heads: ['model', 'linear_num_key_heads'],
  pipeline_model_parallel_layout: ['parallelism', 'pipeline_model_parallel_layout'],
  account_for_embedding_in_pipeline_split: ['parallelism', 'account_for_embedding_in_pipeline_split'],
  account_for_loss_in_pipeline_split: ['parallelism', 'account_for_loss_in_pipeline_split'],
  defer_embedding_wgrad_compute: ['optimizer', 'defer_embedding_wgrad_compute'],
  gradient_accumulation_fusion: ['optimizer', 'gradient_accumulation_fusion'],
  overlap_moe_expert_parallel_comm: ['moe', 'overlap_moe_expert_parallel_comm'],
  moe_token_dispatcher_type: ['moe', 'moe_token_dispatcher_type'],
};

/** The flags of the training script that a layout has a key for. */
const FLAG_KEYS: Readonly<Record<string, readonly [section: string, key: string]>> = {
  '--num-layers': ['model', 'num_layers'],
  '--hidden-size': ['model', 'hidden_size'],
  '--num-attention-heads': ['model', 'num_attention_heads'],
  '--num-query-groups': ['model', 'num_query_groups'],
  '--num-experts': ['model', 'num_experts'],
  '--decoder-first-pipeline-num-layers': ['model', 'num_layers_in_first_pipeline_stage'],
  '--decoder-last-pipeline-num-layers': ['model', 'num_layers_in_last_pipeline_stage'],
  '--seq-length': ['sequence', 'seq_length'],
  '--max-position-embeddings': ['sequence', 'max_seq_len'],
  '--sequence-parallel': ['sequence', 'sequence_parallel'],
  '--tp-comm-overlap': ['sequence', 'tp_comm_overlap'],
  '--cp-comm-type': ['sequence', 'cp_comm_type'],
  '--micro-batch-size': ['batch', 'micro_batch_size'],
  '--global-batch-size': ['batch', 'global_batch_size'],
  '--tensor-model-parallel-size': ['parallelism', 'tp'],
  '--pipeline-model-parallel-size': ['parallelism', 'pp'],
  '--context-parallel-size': ['parallelism', 'cp'],
  '--expert-model-parallel-size': ['parallelism', 'ep'],
  '--expert-tensor-parallel-size': ['parallelism', 'expt_tp'],
  '--num-virtual-stages-per-pipeline-rank': ['parallelism', 'vpp'],
  '--tensor-parallel-num-weight-shards': ['parallelism', 'num_weight_shards'],
  '--expert-tensor-parallel-num-weight-shards': ['parallelism', 'expt_num_weight_shards'],
  '--hierarchical-context-parallel-sizes': ['parallelism', 'hierarchical_context_parallel_sizes'],
  '--hybrid-context-parallel': ['parallelism', 'hybrid_context_parallel'],
  '--pipeline-model-parallel-layout': ['parallelism', 'pipeline_model_parallel_layout'],
  '--account-for-embedding-in-pipeline-split': ['parallelism', 'account_for_embedding_in_pipeline_split'],
  '--account-for-loss-in-pipeline-split': ['parallelism', 'account_for_loss_in_pipeline_split'],
  '--num-layers-per-virtual-pipeline-stage': ['parallelism', 'num_layers_per_virtual_pipeline_stage'],
  '--hybrid-layer-pattern': ['model', 'hybrid_layer_pattern'],
  '--mamba-num-heads': ['model', 'mamba_num_heads'],
  '--untie-embeddings-and-output-weights': ['model', 'untie_embeddings_and_output_weights'],
  '--calculate-per-token-loss': ['sequence', 'calculate_per_token_loss'],
  '--dataloader-type': ['sequence', 'dataloader_type'],
  '--eval-global-batch-size': ['batch', 'eval_global_batch_size'],
  '--eval-micro-batch-size': ['batch', 'eval_micro_batch_size'],
  '--step-batch-size-schedule': ['batch', 'step_batch_size_schedule'],
  '--ckpt-format': ['checkpoint', 'ckpt_format'],
  '--recompute-granularity': ['recompute', 'granularity'],
  '--recompute-method': ['recompute', 'method'],
  '--recompute-num-layers': ['recompute', 'num_layers'],
  '--distribute-saved-activations': ['recompute', 'distribute_saved_activations'],
  '--use-torch-fsdp2': ['fsdp', 'torch_fsdp2'],
};

/** Flags that change nothing that a layout speaks of. */
const NEUTRAL_FLAGS = [
  '--group-query-attention',
  '--disable-bias-linear',
  '--no-gradient-accumulation-fusion',
  '--is-hybrid-model',
];
const NEUTRAL_FIELDS = [
  'pipeline_dtype',
  'bf16',
  'no_rope_freq',
  'linear_conv_kernel_dim',
  'linear_key_head_dim',
  'linear_value_head_dim',
];

type Sections = Record<string, Record<string, unknown>>;

function put(sections: Sections, [section, key]: readonly [string, string], value: unknown): void {
  sections[section] = { ...sections[section], [key]: value };
}

/** The layout of a TransformerConfig in the smallest world that holds it; null where it says what a layout cannot. */
function configText(config: Config): string | null {
  const sections: Sections = { parallelism: {} };
  for (const [name, value] of Object.entries(config)) {
    const place = CONFIG_KEYS[name];
    if (value === null || (value === false && name !== 'add_bias_linear')) {
      continue;
    }
    if (place) {
      put(sections, place, value);
    } else if (!NEUTRAL_FIELDS.includes(name)) {
      return null;
    }
  }
  if (config.experimental_attention_variant === 'dsa') {
    put(sections, ['model', 'add_bias_linear'], config.add_bias_linear ?? true);
  }
  const size = (name: string) => Number(config[name] ?? 1);
  const tp = size('tensor_model_parallel_size');
  const expert = Number(config.expert_tensor_parallel_size ?? tp) * size('expert_model_parallel_size');
  const world_size = tp * size('context_parallel_size') * size('pipeline_model_parallel_size') * expert;
  return layoutText({ world_size, ...sections });
}

/** The layout of a command line; null where it says what a layout cannot. */
function argsText(world_size: number, argv: readonly string[]): string | null {
  const sections: Sections = { parallelism: {} };
  for (let i = 0; i < argv.length; ) {
    const flag = argv[i] ?? '';
    const values: string[] = [];
    for (i++; i < argv.length && !argv[i]?.startsWith('--'); i++) {
      values.push(argv[i] ?? '');
    }
    const place = FLAG_KEYS[flag];
    if (place) {
      const parsed = values.map((value) => (/^-?\d+$/.test(value) ? Number(value) : value));
      const isList = flag === '--hierarchical-context-parallel-sizes';
      put(sections, place, isList ? parsed : (parsed[0] ?? true));
    } else if (flag === '--no-overlap-p2p-communication') {
      put(sections, ['parallelism', 'overlap_p2p_comm'], false);
    } else if (!NEUTRAL_FLAGS.includes(flag)) {
      return null;
    }
  }
  // a layout may say nothing of sequences; the training script insists on their length
  return sections.sequence?.seq_length === undefined ? null : layoutText({ world_size, ...sections });
}

function textOf({ input }: Case): string | null {
  switch (input.kind) {
    case 'config':
      return configText(input.config ?? {});
    case 'args':
      return Object.keys(input.env ?? {}).some((name) => name !== 'CUDA_DEVICE_MAX_CONNECTIONS')
        ? null
        : argsText(input.world_size ?? 1, input.argv ?? []);
    case 'microbatches': {
      const { data_parallel_size: world_size, micro_batch_size, global_batch_size } = input;
      const decrease_batch_size_if_needed = input.decrease_batch_size_if_needed;
      const batch = { micro_batch_size, global_batch_size, decrease_batch_size_if_needed };
      return layoutText({ world_size, parallelism: {}, batch });
    }
  }
}

/** Layers that Megatron-LM builds; it may accept a configuration and build fewer or more than were asked for. */
function buildsOther({ input, expect: golden }: Case): boolean {
  if (input.kind !== 'config' || golden.layers_error) {
    return Boolean(golden.layers_error);
  }
  const held = (golden.layers ?? [])
    .flat()
    .flatMap(([layers, first]) => Array.from({ length: layers }, (_, i) => first + i));
  const isWhole = held.length === input.config?.num_layers;
  return golden.layers !== undefined && (!isWhole || held.sort((a, b) => a - b).some((layer, i) => layer !== i));
}

/** Faults of the launch, not of a layout: a missing environment variable, a bias that experts cannot have. */
const ELSEWHERE = /CUDA_DEVICE_MAX_CONNECTIONS|Bias in Moe is only supported/;

const SWITCHED_OFF = 'Cannot use sequence parallelism without tensor parallelism';

/** What the first step of training says where all checks of the arguments pass. */
const IN_TRAINING =
  'During training, performance may degrade if MoE and tensor parallelismare enabled without also enabling sequence parallelism.';

describe('sizes of models, sequences and batches', () => {
  const cases = loadGolden<Input, Expect>('model_rules')
    .map((one) => ({ ...one, text: textOf(one) }))
    .filter(({ text, error }) => text !== null && !ELSEWHERE.test(error?.message ?? ''));

  test('there are enough of them', () => {
    expect(cases.length).toBeGreaterThan(40);
  });

  test.each(cases)('$id', (one) => {
    const found = predictions(check(one.text ?? ''));
    if (one.error?.message === SWITCHED_OFF) {
      // the training script only switches it off, so it stands as a warning
      const all = check(one.text ?? '').diagnostics.map(({ predicts }) => predicts);
      expect(all).toContain(SWITCHED_OFF);
    } else if (one.ok && !buildsOther(one)) {
      // a degree of 0 has no meaning, whatever Python makes of it
      expect(one.text?.includes('ep: 0') ? [] : found.filter((message) => message !== IN_TRAINING)).toEqual([]);
    } else {
      expect(found).not.toEqual([]);
      const message = one.error?.origin === 'megatron' ? one.error.message : one.expect.layers_error?.message;
      if (message !== undefined) {
        expect(found).toContain(message);
      }
    }
  });
});
