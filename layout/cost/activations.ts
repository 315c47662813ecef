import {
  type Block,
  blockCount,
  type CostJob,
  HALF,
  largestLayer,
  microbatches,
  paddedVocab,
  recomputedShare,
  recomputes,
  type StageShape,
  sequenceSpread,
  shapeOf,
  sumOfBlocks,
  tokensOf,
} from './job';

/** Bytes of a number of 32 bits. */
const FLOAT = 4;

/**
 * Bytes that one block holds for the backward pass of one micro-batch, on one rank.
 * Source: the tensors that autograd saves, as counted in "Reducing Activation Recomputation in Large Transformer Models"
 * (arXiv:2205.05198, section 4), with flash attention's log-sum-exp instead of scores; what selective recomputation leaves out is
 * named in `recompute_modules`, megatron/core/transformer/transformer_config.py.
 */
function blockActivations(job: CostJob, block: Block): number {
  const { model, degrees, sequence } = job;
  const tokens = tokensOf(job);
  const hidden = boundary(job);
  const mask = sequence.dropout ? hidden / HALF : 0;
  // the input of the norm, and its output, which the linear layer after it keeps
  const norm = recomputes(job, 'layernorm') ? hidden : hidden + (hidden / HALF) * job.inputBytes;
  switch (block) {
    case 'attention':
      return norm + mask + attention(job, tokens) + (recomputes(job, 'core_attn') ? 0 : scores(job, tokens));
    case 'mlp':
      return norm + mask + (recomputes(job, 'mlp') ? 0 : feedForward(job, model.ffnHiddenSize, tokens, degrees.tp));
    case 'moe':
      return norm + mask + (recomputes(job, 'moe') ? 0 : mixture(job, tokens));
    case 'mamba':
      return norm + mask + mamba(job, tokens);
  }
}

/** Bytes of the inputs of one layer: all that full recomputation keeps of it. */
function boundary(job: CostJob): number {
  return (HALF * job.model.hiddenSize * tokensOf(job)) / sequenceSpread(job);
}

/** Bytes that all virtual stages of a pipeline rank hold for one micro-batch each, without logits. */
function shapeActivations(job: CostJob, shape: StageShape): number {
  const whole = sumOfBlocks(shape, (block) => blockActivations(job, block));
  const embedding = shape.embedding && job.sequence.dropout ? boundary(job) / HALF : 0;
  const recomputed = recomputedShare(job, shape);
  return whole * (1 - recomputed) + ((recomputed * blockCount(shape)) / 2) * boundary(job) + embedding;
}

/** Bytes that come and go within one layer while it is recomputed: what full recomputation needs beside the boundaries. */
export function recomputedLayer(job: CostJob, stage: number): number {
  return job.recompute.granularity === 'full'
    ? largestLayer(shapeOf(job, stage), (block) => blockActivations(job, block))
    : 0;
}

/**
 * Bytes of the logits of one micro-batch at the end of the forward pass: in 16 bits as the output layer makes them, in fp32 as the
 * loss reads them, and what a fused loss keeps of the gradient, or reinforcement learning of the log-probabilities.
 * Source: megatron/core/tensor_parallel/cross_entropy.py, megatron/core/fusions/fused_cross_entropy.py.
 */
export function logitBytes(job: CostJob): number {
  const { model, degrees, sequence } = job;
  const elements = (tokensOf(job) * paddedVocab(model, degrees.tp)) / degrees.tp;
  return (
    elements * (HALF + FLOAT + (sequence.fusedCrossEntropy || sequence.logProbs || hasUnfusedParts(job) ? FLOAT : 0))
  );
}

/**
 * Micro-batches (of one virtual stage each) whose activations a pipeline rank holds at once.
 * Source: forward_backward_pipelining_without_interleaving and ..._with_interleaving (get_num_warmup_microbatches) in
 * megatron/core/pipeline_parallel/schedules.py.
 */
export function inFlight(job: CostJob, stage: number): number {
  const pp = job.stages.length;
  const chunks = job.stages[stage]?.length ?? 1;
  const total = microbatches(job) * chunks;
  if (pp === 1) {
    return 1;
  }
  const warmUp = chunks === 1 ? pp - stage - 1 : 2 * (pp - stage - 1) + (chunks - 1) * pp;
  return Math.min(total, warmUp + 1);
}

/** Bytes of all activations that a pipeline rank holds at its fullest, logits apart. */
export function stageActivations(job: CostJob, stage: number): number {
  const shape = shapeOf(job, stage);
  const more = hasUnfusedParts(job) ? NANOTRON_ACTIVATIONS : 1;
  return (more * shapeActivations(job, shape) * inFlight(job, stage)) / shape.chunks;
}

function attention(job: CostJob, tokens: number): number {
  const { model, degrees } = job;
  const { numAttentionHeads: heads, numQueryGroups: groups, kvChannels, mla } = model;
  const query = mla ? heads * (mla.qkHeadDim + mla.qkPosEmbHeadDim) : heads * kvChannels;
  const keyValue = mla ? heads * (mla.qkHeadDim + mla.qkPosEmbHeadDim + mla.vHeadDim) : 2 * groups * kvChannels;
  const output = mla ? heads * mla.vHeadDim : heads * kvChannels;
  const latent = mla ? (mla.qLoraRank ?? 0) + mla.kvLoraRank + mla.qkPosEmbHeadDim : 0;
  const copies = hasUnfusedParts(job) ? 2 : 1;
  const projected = recomputes(job, 'mla_up_proj') ? 0 : copies * (query + keyValue);
  return tokens * ((HALF * projected + job.inputBytes * output) / degrees.tp + 2 * HALF * latent);
}

/** Bytes of attention scores: the softmax's output, its dropout mask and what dropout makes of it; or the log-sum-exp alone. */
function scores({ model, degrees, sequence }: CostJob, tokens: number): number {
  const heads = model.numAttentionHeads / degrees.tp;
  return sequence.scoresInMemory ? 5 * heads * tokens * sequence.length : FLOAT * heads * tokens;
}

/**
 * Whether rotated queries and keys are kept beside those that were projected, and the activated gate beside its product, as nanotron
 * does (src/nanotron/models/llama.py), which has no fused kernels for either.
 */
const hasUnfusedParts = ({ program }: CostJob): boolean => program === 'nanotron';

/** What nanotron keeps beyond what is counted, by the peaks of its published runs (docs/cost.md). */
const NANOTRON_ACTIVATIONS = 1.35;

/** What the activation function reads, and what it makes, which the second linear layer keeps. */
function feedForward(job: CostJob, width: number, tokens: number, tp: number): number {
  const { model, inputBytes } = job;
  const up = (model.gatedLinearUnit ? 2 * width : width) + (hasUnfusedParts(job) ? width : 0);
  return (tokens * (HALF * up + inputBytes * width)) / tp;
}

function mixture(job: CostJob, tokens: number): number {
  const { model, degrees } = job;
  const { moe, hiddenSize } = model;
  if (!moe) {
    return 0;
  }
  // a balanced router: every rank of the expert grid gets as many tokens as it sends
  const spread = sequenceSpread(job);
  const routed = (tokens / spread) * moe.topk * (spread === 1 ? 1 : degrees.exptTp);
  const shared =
    moe.sharedFfnHiddenSize > 0 && !recomputes(job, 'shared_experts')
      ? feedForward(job, moe.sharedFfnHiddenSize, tokens, degrees.tp)
      : 0;
  const permuted = (HALF + job.inputBytes) * routed * hiddenSize;
  const activation = (routed * moe.ffnHiddenSize) / degrees.exptTp;
  // without a fused gate the activation is kept before and after it is weighted by the router (activation_func_with_probs, experts.py)
  const unweighted = model.gatedLinearUnit || recomputes(job, 'moe_act') ? 0 : HALF * activation;
  const activated = recomputes(job, 'moe_act') ? job.inputBytes * activation : 0;
  return permuted + feedForward(job, moe.ffnHiddenSize, routed, degrees.exptTp) - activated + unweighted + shared;
}

function mamba({ model, degrees }: CostJob, tokens: number): number {
  if (!model.mamba) {
    return 0;
  }
  const { numHeads, inner, states } = model.mamba;
  const projected = 2 * inner + states + numHeads;
  // the projection, what the convolution makes of it, and the scan's output
  return (HALF * tokens * (projected + inner + states + inner)) / degrees.tp;
}
