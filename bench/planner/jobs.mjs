// Rows of published measurements (bench/planner/README.md) as jobs of the cost engine: what the source says, and where it is
// silent, what its program does by default.

const GPU_OF = {
  A100: 'a100',
  'A100-80GB': 'a100',
  H100: 'h100',
  'H100-80GB': 'h100',
  'H100-96GB': 'h100',
  H200: 'h200',
  'GH200-96GB': 'gh200',
  B200: 'b200',
  GB200: 'gb200',
  B300: 'b300',
  GB300: 'gb300',
};

const COMPUTE_OF = { bf16: 'bf16', fp16: 'fp16', fp8: 'fp8', mxfp8: 'fp8', fp4: 'fp4', nvfp4: 'fp4' };

const BLOCKS_OF = { M: ['mamba'], '*': ['attention'], '-': ['mlp'], E: ['moe'] };

/**
 * The job of a row; null where the row does not say what the engine must know.
 * @param row one line of bench/planner/data
 * @param gpuKind the engine's table of GPUs
 */
export function jobOf(row, gpuKind) {
  const gpu = gpuKind(GPU_OF[row.hardware.gpu] ?? '');
  const stages = stagesOf(row);
  if (!gpu || !stages || !row.model.hidden_size || row.layout.tp === null || !row.batch.micro) {
    return null;
  }
  const degrees = degreesOf(row.layout);
  return {
    model: modelOf(row),
    degrees,
    stages,
    batch: { micro: row.batch.micro, global: row.batch.global },
    sequence: sequenceOf(row, degrees),
    optimizer: optimizerOf(row),
    recompute: recomputeOf(row),
    fsdp: row.layout.fsdp ? (argsOf(row)['data-parallel-sharding-strategy'] ?? 'optim_grads_params') : 'no_shard',
    hardware: hardwareOf(row, gpu),
    compute: COMPUTE_OF[row.precision] ?? 'bf16',
    dispatcher: argsOf(row)['moe-token-dispatcher-type'] ?? 'alltoall',
  };
}

/** Whether a row is of nanotron, which has a calibration of its own. */
export const isNanotron = ({ framework }) => framework === 'nanotron';

const argsOf = ({ args }) => args ?? {};

function degreesOf({ tp, cp, pp, dp, ep, expt_tp: exptTp }) {
  // a world that nobody states is one machine of 8 GPUs
  const replicas = dp ?? Math.max(1, Math.floor(8 / (tp * cp * pp)));
  const experts = exptTp ?? tp;
  return { tp, cp, pp, dp: replicas, ep, exptTp: experts, exptDp: Math.max(1, (replicas * cp * tp) / (ep * experts)) };
}

function modelOf(row) {
  const { model } = row;
  const args = argsOf(row);
  const llama = model.swiglu && !row.args;
  const position = args['position-embedding-type'] ?? 'learned_absolute';
  const rotary = row.args ? position !== 'learned_absolute' : model.swiglu;
  return {
    hiddenSize: model.hidden_size,
    ffnHiddenSize: model.ffn_hidden_size,
    numAttentionHeads: model.num_attention_heads,
    numQueryGroups: model.num_query_groups ?? model.num_attention_heads,
    kvChannels: model.kv_channels ?? model.hidden_size / model.num_attention_heads,
    vocabSize: model.vocab_size,
    vocabDivisibleBy: isNanotron(row) ? 1 : (args['make-vocab-size-divisible-by'] ?? 128),
    gatedLinearUnit: model.swiglu,
    untied: model.untied ?? false,
    bias: !model.swiglu && !args['disable-bias-linear'],
    rmsNorm: args.normalization === 'RMSNorm' || llama,
    learnedPositions: rotary ? 0 : (args['max-position-embeddings'] ?? model.seq_length),
    mla: latentAttentionOf(args),
    moe: model.num_experts
      ? {
          numExperts: model.num_experts,
          topk: model.moe_topk,
          ffnHiddenSize: model.moe_ffn_hidden_size ?? model.ffn_hidden_size,
          sharedFfnHiddenSize: args['moe-shared-expert-intermediate-size'] ?? 0,
        }
      : null,
    mamba: args['hybrid-layer-pattern']
      ? { numHeads: args['mamba-num-heads'] ?? model.hidden_size / 32, headDim: 64, numGroups: 8, stateDim: 128 }
      : null,
  };
}

function latentAttentionOf(args) {
  return args['multi-latent-attention']
    ? {
        qLoraRank: args['q-lora-rank'] ?? null,
        kvLoraRank: args['kv-lora-rank'],
        qkHeadDim: args['qk-head-dim'],
        qkPosEmbHeadDim: args['qk-pos-emb-head-dim'],
        vHeadDim: args['v-head-dim'],
      }
    : null;
}

function sequenceOf(row, { tp }) {
  const args = argsOf(row);
  const sequenceParallel = row.layout.sequence_parallel ?? isNanotron(row);
  return {
    length: row.model.seq_length,
    sequenceParallel: sequenceParallel && tp > 1,
    scoresInMemory:
      args['attention-backend'] === 'unfused' ||
      args['transformer-impl'] === 'local' ||
      (!row.args && /^A100/.test(row.hardware.gpu)),
    dropout: (args['hidden-dropout'] ?? (row.model.swiglu && !row.args ? 0 : 0.1)) > 0,
    fusedCrossEntropy: Boolean(args['cross-entropy-loss-fusion']),
  };
}

function optimizerOf(row) {
  const args = argsOf(row);
  return {
    paramBytes: 2,
    // nanotron holds gradients in 16 bits and accumulates them in fp32
    gradBytes: isNanotron(row) ? 6 : args['grad-reduce-in-bf16'] ? 2 : 4,
    stateBytes: 12,
    distributed: Boolean(row.layout.distributed_optimizer) || (row.layout.zero ?? 0) > 0,
    instances: args['num-distributed-optimizer-instances'] ?? 1,
    overlapGradReduce: Boolean(args['overlap-grad-reduce']),
    overlapParamGather: Boolean(args['overlap-param-gather']),
  };
}

function recomputeOf(row) {
  const args = argsOf(row);
  if (row.layout.recompute === 'full') {
    const layers = args['recompute-method'] === 'block' ? args['recompute-num-layers'] : null;
    return { granularity: 'full', layers };
  }
  return { granularity: row.layout.recompute === 'selective' ? 'selective' : 'none' };
}

function hardwareOf({ hardware }, gpu) {
  return {
    gpu,
    gpusPerNode: hardware.gpus_per_node,
    gpusPerNvlinkDomain: /^GB/.test(hardware.gpu) ? 72 : hardware.gpus_per_node,
    networkBytesPerSecond: networkOf(hardware),
  };
}

/** Bytes a second of one GPU's share of the network, where the source says it; else one card a GPU of its time. */
function networkOf({ interconnect, gpu }) {
  if (/800 Gb\/s a node/.test(interconnect ?? '')) {
    return 12.5e9;
  }
  return /^A100/.test(gpu) ? 25e9 : 50e9;
}

/** What each pipeline rank and virtual stage holds: an even split, an uneven one, or a pattern. */
function stagesOf(row) {
  const args = argsOf(row);
  const pattern = args['hybrid-layer-pattern'];
  const { pp } = row.layout;
  if (pattern) {
    return patternStages(pattern, pp);
  }
  if (!row.model.num_layers) {
    return null;
  }
  const isMoe = layerFrequency(args['moe-layer-freq']);
  const vpp = row.layout.vpp ?? 1;
  const blocksOf = (layer) => ['attention', row.model.num_experts && isMoe(layer) ? 'moe' : 'mlp'];
  let layer = 0;
  return layerCounts(row.model.num_layers, pp, args).map((count, stage) =>
    evenly(count, vpp).map((size, chunk) => {
      const last = stage === pp - 1 && chunk === vpp - 1;
      return {
        blocks: Array.from({ length: size }, () => blocksOf(layer++)).flat(),
        embedding: stage === 0 && chunk === 0,
        loss: last,
        mtp: last ? (args['mtp-num-layers'] ?? 0) : 0,
      };
    }),
  );
}

/** Layers of each pipeline rank, with a first and a last one of their own size where the row has them. */
function layerCounts(layers, pp, args) {
  if (pp === 1) {
    return [layers];
  }
  const first = args['decoder-first-pipeline-num-layers'];
  const last = args['decoder-last-pipeline-num-layers'];
  const ends = [first, last].filter((size) => size !== undefined);
  const middle = evenly(layers - ends.reduce((sum, size) => sum + size, 0), pp - ends.length);
  return [...(first === undefined ? [] : [first]), ...middle, ...(last === undefined ? [] : [last])];
}

function evenly(total, parts) {
  return Array.from({ length: parts }, (_, i) => Math.floor(total / parts) + (i < total % parts ? 1 : 0));
}

/** Which layers are MoE layers: every n-th, or by a list such as `([0]*3+[1]*58)`. */
function layerFrequency(frequency) {
  if (frequency === undefined) {
    return () => true;
  }
  if (/^\d+$/.test(String(frequency))) {
    return (layer) => layer % Number(frequency) === 0;
  }
  const list = [...String(frequency).matchAll(/\[([01,\s]+)\](?:\s*\*\s*(\d+))?/g)].flatMap(([, values, times]) =>
    Array(Number(times ?? 1))
      .fill(values.split(',').map(Number))
      .flat(),
  );
  return (layer) => list[layer] === 1;
}

function patternStages(pattern, pp) {
  const blocks = [...pattern.split('/')[0].replaceAll('|', '')].map((symbol) => BLOCKS_OF[symbol]);
  if (blocks.includes(undefined) || blocks.length % pp !== 0) {
    return null;
  }
  const size = blocks.length / pp;
  return Array.from({ length: pp }, (_, stage) => [
    {
      blocks: blocks.slice(stage * size, (stage + 1) * size).flat(),
      embedding: stage === 0,
      loss: stage === pp - 1,
      mtp: 0,
    },
  ]);
}
