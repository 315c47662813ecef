import { type Block, type CostJob, paddedVocab, sequenceSpread, tokensOf } from './job';
import { blockParameters } from './parameters';

/** What one block computes in the forward pass of one micro-batch, on one rank. */
export interface Work {
  /** Operations of matrix products, a multiply-add being two. */
  readonly matrixFlops: number;
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
  const { dense, expert } = blockParameters(job, block);
  const spread = sequenceSpread(job);
  // norm, dropout and residual: read and written about eight times in 16 bits
  const hiddenBytes = (16 * model.hiddenSize * tokens) / spread;
  switch (block) {
    case 'attention': {
      const width = model.mla
        ? model.numAttentionHeads * (model.mla.qkHeadDim + model.mla.qkPosEmbHeadDim + model.mla.vHeadDim)
        : 2 * model.numAttentionHeads * model.kvChannels;
      // causal: half of the pairs; a kernel that writes the scores computes all of them
      const pairs = tokens * sequence.length * (sequence.scoresTimed ? 1 : 0.5);
      const scores = sequence.scoresTimed ? (12 * model.numAttentionHeads * tokens * sequence.length) / degrees.tp : 0;
      return {
        matrixFlops: 2 * tokens * dense,
        attentionFlops: (2 * pairs * width) / degrees.tp,
        movedBytes: hiddenBytes + scores,
        scoreBytes: scores,
      };
    }
    case 'mlp':
      return {
        matrixFlops: 2 * tokens * dense,
        attentionFlops: 0,
        movedBytes: hiddenBytes + (6 * tokens * model.ffnHiddenSize * (model.gatedLinearUnit ? 1.5 : 1)) / degrees.tp,
        scoreBytes: 0,
      };
    case 'moe': {
      const topk = model.moe?.topk ?? 1;
      const perExpert = (expert * degrees.ep) / (model.moe?.numExperts ?? 1);
      const routed = (tokens / spread) * topk * (spread === 1 ? 1 : degrees.exptTp);
      return {
        matrixFlops: 2 * tokens * dense + 2 * routed * perExpert,
        attentionFlops: 0,
        movedBytes: hiddenBytes + routed * (12 * model.hiddenSize + 8 * (model.moe?.ffnHiddenSize ?? 0)),
        scoreBytes: 0,
      };
    }
    case 'mamba':
      return { matrixFlops: 2 * tokens * dense * 1.2, attentionFlops: 0, movedBytes: 3 * hiddenBytes, scoreBytes: 0 };
  }
}

/** The work of the output layer and the loss, in one forward pass. */
export function lossWork(job: CostJob): Work {
  const { model, degrees } = job;
  const elements = (tokensOf(job) * paddedVocab(model, degrees.tp)) / degrees.tp;
  return { matrixFlops: 2 * elements * model.hiddenSize, attentionFlops: 0, movedBytes: 16 * elements, scoreBytes: 0 };
}
