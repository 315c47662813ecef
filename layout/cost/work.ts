import { type Block, type CostJob, HALF, paddedVocab, recomputes, sequenceSpread, tokensOf } from './job';
import { blockParameters, latentUpParameters, sharedExpertParameters } from './parameters';

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
  /** How many sequences of kernels are started one by one: a block, or each of its experts. */
  readonly starts: number;
}

/** The work of one block, in one forward pass. */
export function blockWork(job: CostJob, block: Block): Work {
  const work = workOf(job, block);
  return job.captured.includes(block) ? { ...work, starts: 0 } : work;
}

function workOf(job: CostJob, block: Block): Work {
  const { model, degrees, sequence } = job;
  const tokens = tokensOf(job);
  const { dense } = blockParameters(job, block);
  const width = model.ffnHiddenSize / degrees.tp;
  const product = { flops: 2 * tokens * dense, tokens, width, weightBytes: HALF * dense };
  const hiddenBytes = hiddenMoved(job);
  switch (block) {
    case 'attention': {
      const heads = model.mla
        ? model.numAttentionHeads * (model.mla.qkHeadDim + model.mla.qkPosEmbHeadDim + model.mla.vHeadDim)
        : 2 * model.numAttentionHeads * model.kvChannels;
      // causal: half of the pairs; a kernel that writes the scores computes all of them
      const pairs = tokens * sequence.length * (sequence.scoresTimed ? 1 : 0.5);
      return {
        products: [product],
        attentionFlops: (2 * pairs * heads) / degrees.tp,
        movedBytes:
          hiddenBytes +
          scoreBytes(job) +
          quantizedBytes(job, tokens * (model.hiddenSize + (model.numAttentionHeads * model.kvChannels) / degrees.tp)),
        starts: 1,
      };
    }
    case 'mlp':
      return {
        products: [product],
        attentionFlops: 0,
        movedBytes:
          hiddenBytes +
          (6 * tokens * model.ffnHiddenSize * (model.gatedLinearUnit ? 1.5 : 1)) / degrees.tp +
          quantizedBytes(job, tokens * (model.hiddenSize + width)),
        starts: 1,
      };
    case 'moe':
      return mixtureWork(job, hiddenBytes);
    case 'mamba':
      return {
        products: [{ ...product, flops: 1.2 * product.flops }],
        attentionFlops: 0,
        movedBytes: 3 * hiddenBytes,
        starts: 1,
      };
  }
}

/** Bytes of norm, dropout and residual of one block: read and written about eight times in 16 bits. */
const hiddenMoved = (job: CostJob): number => (16 * job.model.hiddenSize * tokensOf(job)) / sequenceSpread(job);

/** Bytes that narrow products move before they start: inputs are read in 16 bits and written twice, for products of either pass. */
const quantizedBytes = ({ inputBytes }: CostJob, elements: number): number =>
  inputBytes < HALF ? (HALF + 2 * inputBytes) * elements : 0;

/** Bytes of attention scores that a kernel reads and writes which keeps them in memory. */
function scoreBytes(job: CostJob): number {
  const { model, degrees, sequence } = job;
  return sequence.scoresTimed ? (12 * model.numAttentionHeads * tokensOf(job) * sequence.length) / degrees.tp : 0;
}

/**
 * What selective recomputation computes again of one block in the backward pass of one micro-batch. Its kernels are started among
 * the others, but for those of a whole block.
 * Source: `recompute_modules`, megatron/core/transformer/transformer_config.py.
 */
export function recomputedWork(job: CostJob, block: Block): Work {
  const whole = blockWork(job, block);
  const again = (module: string, bytes: number) => (recomputes(job, module) ? bytes : 0);
  // a norm reads its input and writes its output
  const norm = again('layernorm', hiddenMoved(job) / 4);
  const nothing = { products: [], attentionFlops: 0, movedBytes: norm, starts: 0 };
  switch (block) {
    case 'attention': {
      const parameters = again('mla_up_proj', latentUpParameters(job));
      return {
        products: whole.products
          .filter(() => parameters > 0)
          .map((product) => ({ ...product, flops: 2 * tokensOf(job) * parameters, weightBytes: HALF * parameters })),
        attentionFlops: again('core_attn', whole.attentionFlops),
        movedBytes: norm + again('core_attn', scoreBytes(job)),
        starts: 0,
      };
    }
    case 'mlp':
      return recomputes(job, 'mlp') ? whole : nothing;
    case 'moe':
      return recomputes(job, 'moe') ? whole : { ...nothing, ...expertsAgain(job, norm) };
    case 'mamba':
      return nothing;
  }
}

/** Of experts that are not recomputed whole: their activation functions, and the shared ones. */
function expertsAgain(job: CostJob, norm: number): Pick<Work, 'products' | 'movedBytes'> {
  const { model, degrees } = job;
  const shared = recomputes(job, 'shared_experts') ? sharedExpertParameters(job) : 0;
  const tokens = tokensOf(job);
  const routed = (tokens / sequenceSpread(job)) * (model.moe?.topk ?? 0);
  const activation = recomputes(job, 'moe_act') ? 6 * routed * (model.moe?.ffnHiddenSize ?? 0) : 0;
  return {
    products:
      shared > 0
        ? [
            {
              flops: 2 * tokens * shared,
              tokens,
              width: (model.moe?.sharedFfnHiddenSize ?? 1) / degrees.tp,
              weightBytes: HALF * shared,
            },
          ]
        : [],
    movedBytes: norm + activation,
  };
}

/** Router and shared experts, and the routed tokens of the rank's experts, evenly spread. */
function mixtureWork(job: CostJob, hiddenBytes: number): Work {
  const { model, degrees } = job;
  const { moe } = model;
  if (!moe) {
    return { products: [], attentionFlops: 0, movedBytes: hiddenBytes, starts: 1 };
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
    movedBytes:
      hiddenBytes +
      routed * (12 * model.hiddenSize + (8 * moe.ffnHiddenSize) / degrees.exptTp) +
      quantizedBytes(job, routed * (model.hiddenSize + moe.ffnHiddenSize / degrees.exptTp)),
    starts: job.groupedExperts ? 1 : Math.max(1, experts),
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
    starts: 1,
  };
}
