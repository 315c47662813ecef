// Rows of published measurements (bench/planner/README.md) as layout files: what a person who knows the run would write. What the
// source does not say is left out.

const POSITIONS = ['learned_absolute', 'rope', 'mrope', 'yarn', 'relative', 'none'];

/**
 * The layout file of a row; null where the row lacks its degrees.
 * @param row one line of bench/planner/data
 */
export function layoutOf(row) {
  const { layout, batch, hardware } = row;
  if (layout.tp === null || layout.pp === null || !batch.micro || !row.model.hidden_size) {
    return null;
  }
  const gpus = hardware.gpus ?? hardware.gpus_per_node;
  const nodes = Math.ceil(gpus / hardware.gpus_per_node);
  const sections = {
    // how its pipelines wait is nanotron's own
    launch: row.framework === 'nanotron' ? { family: 'nanotron' } : {},
    cluster: {
      nodes,
      gpus_per_node: gpus / nodes,
      gpus_per_nvlink_domain: /^GB/.test(hardware.gpu) ? 72 : undefined,
      gpu: hardware.gpu,
      network_bandwidth: networkOf(hardware),
    },
    parallelism: degreesOf(row),
    model: modelOf(row),
    sequence: {
      seq_length: row.model.seq_length,
      sequence_parallel: (layout.sequence_parallel && layout.tp > 1) || undefined,
      max_seq_len: argsOf(row)['max-position-embeddings'],
    },
    batch: { micro_batch_size: batch.micro, global_batch_size: batch.global },
    optimizer: optimizerOf(row),
    precision: precisionOf(row),
    // NeMo's and Megatron Bridge's adapters are 32 wide (nemo/collections/llm/peft/lora.py, `dim`)
    lora: /lora/i.test(row.task ?? '') ? { rank: 32 } : {},
    recompute: recomputeOf(row),
    moe: {
      moe_token_dispatcher_type: argsOf(row)['moe-token-dispatcher-type'] ?? dispatcherOf(row),
      moe_grouped_gemm: argsOf(row)['moe-grouped-gemm'],
    },
    fsdp: layout.fsdp
      ? { enabled: true, data_parallel_sharding_strategy: argsOf(row)['data-parallel-sharding-strategy'] }
      : {},
  };
  const lines = Object.entries(sections).map(([name, keys]) => `${name}: ${flow(keys)}`);
  return `layout: 1\n${lines.filter((line) => !line.endsWith('{}')).join('\n')}\n`;
}

/** What Megatron Bridge's recipes of these models set (src/megatron/bridge/perf_recipes/{qwen,gpt_oss}). */
const dispatcherOf = ({ framework, model, precision }) =>
  /^Megatron-Bridge/.test(framework) &&
  (/Qwen3_30B/.test(model.name) || (/GPT OSS/.test(model.name) && precision !== 'bf16'))
    ? 'flex'
    : undefined;

/** Bytes a second that a GPU reaches of the network that the source states: nine tenths of its share. */
function networkOf({ interconnect, gpus_per_node: perNode }) {
  const [, gigabits, of] = /(\d+) Gb\/s a (node|GPU)/.exec(interconnect ?? '') ?? [];
  return gigabits && `${(0.9 * gigabits) / 8 / (of === 'node' ? perNode : 1)}GB`;
}

const argsOf = ({ args }) => args ?? {};

function flow(keys) {
  const written = Object.entries(keys).filter(([, value]) => value !== undefined && value !== null);
  return `{${written.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(', ')}}`;
}

/** `[a b]` of Megatron-LM's test configurations as a list. */
const words = (text) => text?.replace(/^\[|\]$/g, '').split(/[\s,]+/);

function degreesOf(row) {
  const { tp, cp, pp, vpp, ep, expt_tp: exptTp } = row.layout;
  const args = argsOf(row);
  return {
    tp,
    cp,
    pp,
    vpp: vpp > 1 ? vpp : undefined,
    ep: ep > 1 ? ep : undefined,
    expt_tp: exptTp,
    num_distributed_optimizer_instances: args['num-distributed-optimizer-instances'],
  };
}

function modelOf({ model, ...row }) {
  const args = argsOf(row);
  const position = args['position-embedding-type'];
  return {
    num_layers: args['hybrid-layer-pattern'] ? undefined : model.num_layers,
    num_layers_in_first_pipeline_stage: args['decoder-first-pipeline-num-layers'],
    num_layers_in_last_pipeline_stage: args['decoder-last-pipeline-num-layers'],
    hidden_size: model.hidden_size,
    ffn_hidden_size: model.ffn_hidden_size,
    num_attention_heads: model.num_attention_heads,
    num_query_groups: model.num_query_groups,
    kv_channels: model.kv_channels,
    params_dtype: row.precision === 'fp16' ? 'fp16' : undefined,
    vocab_size: model.vocab_size,
    make_vocab_size_divisible_by: args['make-vocab-size-divisible-by'],
    position_embedding_type: POSITIONS.includes(position) ? position : model.swiglu && !row.args ? 'rope' : undefined,
    gated_linear_unit: model.swiglu || undefined,
    add_bias_linear: model.swiglu || args['disable-bias-linear'] ? false : undefined,
    normalization: args.normalization,
    hidden_dropout: args['hidden-dropout'],
    attention_backend: args['attention-backend'],
    transformer_impl: args['transformer-impl'],
    cross_entropy_loss_fusion: args['cross-entropy-loss-fusion'],
    untie_embeddings_and_output_weights: model.untied || undefined,
    num_experts: model.num_experts,
    moe_router_topk: model.num_experts ? model.moe_topk : undefined,
    moe_ffn_hidden_size: model.num_experts ? model.moe_ffn_hidden_size : undefined,
    moe_layer_freq: args['moe-layer-freq'],
    moe_shared_expert_intermediate_size: args['moe-shared-expert-intermediate-size'],
    multi_latent_attention: args['multi-latent-attention'],
    q_lora_rank: args['q-lora-rank'],
    kv_lora_rank: args['kv-lora-rank'],
    qk_head_dim: args['qk-head-dim'],
    qk_pos_emb_head_dim: args['qk-pos-emb-head-dim'],
    v_head_dim: args['v-head-dim'],
    mtp_num_layers: args['mtp-num-layers'],
    hybrid_layer_pattern: args['hybrid-layer-pattern'],
    mamba_num_heads: args['mamba-num-heads'],
  };
}

function optimizerOf(row) {
  const args = argsOf(row);
  return {
    use_distributed_optimizer: Boolean(row.layout.distributed_optimizer) || row.layout.zero > 0 || undefined,
    overlap_grad_reduce: args['overlap-grad-reduce'],
    overlap_param_gather: args['overlap-param-gather'],
    grad_reduce_in_bf16: args['grad-reduce-in-bf16'],
  };
}

function precisionOf({ precision }) {
  return /fp8/.test(precision ?? '')
    ? { fp8_format: 'hybrid', fp8_recipe: precision === 'mxfp8' ? 'mxfp8' : undefined }
    : /fp4/.test(precision ?? '')
      ? { fp4_format: 'e2m1' }
      : {};
}

function recomputeOf(row) {
  const args = argsOf(row);
  const { recompute } = row.layout;
  return recompute === 'full'
    ? {
        granularity: 'full',
        method: args['recompute-method'] ?? 'uniform',
        num_layers: args['recompute-num-layers'] ?? 1,
      }
    : { granularity: recompute === 'selective' ? 'selective' : undefined, modules: words(args['recompute-modules']) };
}
