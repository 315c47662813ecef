import { type Block, type CostJob, HALF, paddedVocab, sequenceSpread, tokensOf } from './job';
import { blockParameters, sharedExpertParameters } from './parameters';

/** Matrix products of one shape. */
interface Product {
  /** Operations, a multiply-add being two. */
  readonly flops: number;
  /** Rows that one product has, and the width of the shard that it multiplies: small ones leave the GPU idle. */
  readonly tokens: number;
  readonly width: number;
  /** Bytes of the weights, which every pass reads. */
  readonly weightBytes: number;
}

/** What one block computes in the forward pass of one micro-batch, on one rank. */
export interface Work {
  readonly products: readonly Product[];
  /** Operations of attention between queries and keys, which runs at another efficiency. */
  readonly attentionFlops: number;
  /** Bytes that element-wise kernels (norms, activation functions, residuals, permutation) read and write. */
  readonly movedBytes: number;
  /** Of these, those of attention scores that are written to memory. */
  readonly scoreBytes: number;
}

/** The work of one block, in one forward pass. */
export function blockWork(job: CostJob, block: Block): Work {
  const { model, degrees, sequence } = job;
  const tokens = tokensOf(job);
  const { dense } = blockParameters(job, block);
  const spread = sequenceSpread(job);
  const width = model.ffnHiddenSize / degrees.tp;
  const product = { flops: 2 * tokens * dense, tokens, width, weightBytes: HALF * dense };
  // norm, dropout and residual: read and written about eight times in 16 bits
  const hiddenBytes = (16 * model.hiddenSize * tokens) / spread;
  switch (block) {
    case 'attention': {
      const heads = model.mla
        ? model.numAttentionHeads * (model.mla.qkHeadDim + model.mla.qkPosEmbHeadDim + model.mla.vHeadDim)
        : 2 * model.numAttentionHeads * model.kvChannels;
      // causal: half of the pairs; a kernel that writes the scores computes all of them
      const pairs = tokens * sequence.length * (sequence.scoresTimed ? 1 : 0.5);
      const scores = sequence.scoresTimed ? (12 * model.numAttentionHeads * tokens * sequence.length) / degrees.tp : 0;
      return {
        products: [product],
        attentionFlops: (2 * pairs * heads) / degrees.tp,
        movedBytes: hiddenBytes + scores,
        scoreBytes: scores,
      };
    }
    case 'mlp':
      return {
        products: [product],
        attentionFlops: 0,
        movedBytes: hiddenBytes + (6 * tokens * model.ffnHiddenSize * (model.gatedLinearUnit ? 1.5 : 1)) / degrees.tp,
        scoreBytes: 0,
      };
    case 'moe':
      return mixtureWork(job, hiddenBytes);
    case 'mamba':
      return {
        products: [{ ...product, flops: 1.2 * product.flops }],
        attentionFlops: 0,
        movedBytes: 3 * hiddenBytes,
        scoreBytes: 0,
      };
  }
}

/** Router and shared experts, and the routed tokens of the rank's experts, evenly spread. */
function mixtureWork(job: CostJob, hiddenBytes: number): Work {
  const { model, degrees } = job;
  const { moe } = model;
  if (!moe) {
    return { products: [], attentionFlops: 0, movedBytes: hiddenBytes, scoreBytes: 0 };
  }
  const tokens = tokensOf(job);
  const own = tokens / sequenceSpread(job);
  const shared = sharedExpertParameters(job);
  const experts = moe.numExperts / degrees.ep;
  const { expert } = blockParameters(job, 'moe');
  const routed = own * moe.topk * degrees.exptTp;
  return {
    products: [
      {
        flops: 2 * own * model.hiddenSize * moe.numExperts + 2 * tokens * shared,
        tokens,
        width: Math.max(1, moe.sharedFfnHiddenSize) / degrees.tp,
        weightBytes: HALF * shared,
      },
      {
        flops: (2 * routed * expert) / experts,
        tokens: routed / experts,
        width: moe.ffnHiddenSize / degrees.exptTp,
        weightBytes: HALF * expert,
      },
    ].filter(({ flops }) => flops > 0),
    attentionFlops: 0,
    movedBytes: hiddenBytes + routed * (12 * model.hiddenSize + (8 * moe.ffnHiddenSize) / degrees.exptTp),
    scoreBytes: 0,
  };
}

/** The work of the output layer and the loss, in one forward pass. */
export function lossWork(job: CostJob): Work {
  const { model, degrees } = job;
  const tokens = tokensOf(job);
  const width = paddedVocab(model, degrees.tp) / degrees.tp;
  const elements = tokens * width;
  return {
    products:
      width > 0
        ? [{ flops: 2 * elements * model.hiddenSize, tokens, width, weightBytes: HALF * width * model.hiddenSize }]
        : [],
    attentionFlops: 0,
    movedBytes: 16 * elements,
    scoreBytes: 0,
  };
}
