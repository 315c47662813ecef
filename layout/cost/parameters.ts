import { type Block, type CostModel, paddedVocab, type StageShape, sumOfBlocks, type WeightJob } from './job';

/** Parameters that one rank holds, in elements: those reduced over dp x cp, and those of experts, reduced over expt_dp. */
export interface ParameterCount {
  readonly dense: number;
  readonly expert: number;
}

/**
 * Parameters of one block on one rank.
 * Source: the linear layers of megatron/core/transformer/{attention,multi_latent_attention,mlp}.py, moe/{router,experts}.py and
 * megatron/core/ssm/mamba_mixer.py; norms and biases of row-parallel layers are replicated over tp.
 */
export function blockParameters(job: WeightJob, block: Block): ParameterCount {
  const { model, degrees } = job;
  const norm = normParameters(model);
  switch (block) {
    case 'attention':
      return {
        dense: norm + (model.mla ? latentAttention(model, degrees.tp) : attention(model, degrees.tp)),
        expert: 0,
      };
    case 'mlp':
      return { dense: norm + feedForward(model, model.ffnHiddenSize, degrees.tp), expert: 0 };
    case 'mamba':
      return { dense: norm + mamba(model, degrees.tp), expert: 0 };
    case 'moe':
      return mixture(job, norm);
  }
}

/** Parameters of what a pipeline rank holds. */
export function shapeParameters(job: WeightJob, shape: StageShape): ParameterCount {
  const { model, degrees } = job;
  const { hiddenSize } = model;
  const norm = normParameters(model);
  const ends =
    vocabularies(job, shape) * vocabularyParameters(job) +
    (shape.embedding ? model.learnedPositions * hiddenSize : 0) +
    (shape.loss ? norm : 0) +
    // two norms and the projection of [hidden, embedding] to hidden (megatron/core/transformer/multi_token_prediction.py)
    shape.mtp * (3 * norm + (2 * hiddenSize * hiddenSize) / degrees.tp);
  return {
    dense: sumOfBlocks(shape, (block) => blockParameters(job, block).dense) + ends,
    expert: sumOfBlocks(shape, (block) => blockParameters(job, block).expert),
  };
}

/** Word embeddings and output layers on a pipeline rank; a tied one is a copy where the two lie on different stages. */
export const vocabularies = ({ model, stages }: WeightJob, { embedding, loss }: StageShape): number =>
  Number(embedding) + Number(loss && (model.untied || stages.length > 1));

/** Parameters of the word embedding, or of the output layer, on one rank. */
export function vocabularyParameters({ model, degrees }: WeightJob): number {
  return (paddedVocab(model, degrees.tp) * model.hiddenSize) / degrees.tp;
}

/**
 * Parameters of the adapters of a pipeline rank: beside every linear layer of attention and feed-forward network a product of two
 * narrow matrices, of which one is spread over the tensor-parallel ranks.
 */
export function adapterParameters(job: WeightJob, { blocks }: StageShape): ParameterCount {
  const { model, degrees, lora } = job;
  const { hiddenSize: h, numAttentionHeads: heads, numQueryGroups: groups, kvChannels, moe } = model;
  const rank = lora?.rank ?? 0;
  const query = heads * kvChannels;
  const ofFeedForward = (width: number, tp: number) =>
    (rank * (h + (model.gatedLinearUnit ? 2 : 1) * width + width + h)) / tp;
  const attentionPart = (rank * (h + query + 2 * groups * kvChannels + query + h)) / degrees.tp;
  const expert = moe ? (moe.numExperts / degrees.ep) * ofFeedForward(moe.ffnHiddenSize, degrees.exptTp) : 0;
  return {
    dense: blocks.attention * attentionPart + blocks.mlp * ofFeedForward(model.ffnHiddenSize, degrees.tp),
    expert: blocks.moe * expert,
  };
}

function normParameters({ hiddenSize, rmsNorm }: CostModel): number {
  return rmsNorm ? hiddenSize : 2 * hiddenSize;
}

function attention(model: CostModel, tp: number): number {
  const { hiddenSize: h, numAttentionHeads: heads, numQueryGroups: groups, kvChannels, bias } = model;
  const query = heads * kvChannels;
  // fewer groups than ranks are copied, one a rank
  const keyValue = 2 * Math.max(groups, Math.min(tp, heads)) * kvChannels;
  const weights = (h * (query + keyValue) + query * h) / tp;
  return weights + (bias ? (query + keyValue) / tp + h : 0);
}

function latentAttention(model: CostModel, tp: number): number {
  const { hiddenSize: h, numAttentionHeads: heads, mla } = model;
  if (!mla) {
    return 0;
  }
  const { qLoraRank, kvLoraRank, qkHeadDim, qkPosEmbHeadDim, vHeadDim } = mla;
  const queryWidth = heads * (qkHeadDim + qkPosEmbHeadDim);
  const query = qLoraRank === null ? (h * queryWidth) / tp : h * qLoraRank + qLoraRank + (qLoraRank * queryWidth) / tp;
  const keyValue = h * (kvLoraRank + qkPosEmbHeadDim) + kvLoraRank + (kvLoraRank * heads * (qkHeadDim + vHeadDim)) / tp;
  return query + keyValue + (heads * vHeadDim * h) / tp;
}

/** Parameters of the products that expand latent queries, keys and values, on one rank; 0 without multi-latent attention. */
export function latentUpParameters({ model, degrees }: WeightJob): number {
  const { numAttentionHeads: heads, mla } = model;
  const query = mla ? (mla.qLoraRank ?? 0) * heads * (mla.qkHeadDim + mla.qkPosEmbHeadDim) : 0;
  return mla ? (query + mla.kvLoraRank * heads * (mla.qkHeadDim + mla.vHeadDim)) / degrees.tp : 0;
}

function feedForward(model: CostModel, width: number, tp: number): number {
  const { hiddenSize: h, gatedLinearUnit, bias } = model;
  const up = gatedLinearUnit ? 2 * width : width;
  return (h * up + width * h) / tp + (bias ? up / tp + h : 0);
}

function mixture(job: WeightJob, norm: number): ParameterCount {
  const { model, degrees } = job;
  const { hiddenSize: h, moe } = model;
  if (!moe) {
    return { dense: norm, expert: 0 };
  }
  const width = moe.sharedFfnHiddenSize;
  const shared = width > 0 ? feedForward(model, width, degrees.tp) : 0;
  return {
    dense: norm + h * moe.numExperts + shared,
    expert: (moe.numExperts / degrees.ep) * feedForward(model, moe.ffnHiddenSize, degrees.exptTp),
  };
}

function mamba({ hiddenSize: h, mamba: shape }: CostModel, tp: number): number {
  if (!shape) {
    return 0;
  }
  const { numHeads, inner, states } = shape;
  const convolution = 5 * (inner + states);
  return (h * (2 * inner + states + numHeads) + convolution + 3 * numHeads + inner + inner * h) / tp;
}
