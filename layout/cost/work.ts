import { type Block, type CostJob, HALF, paddedVocab, recomputes, sequenceSpread, tokensOf } from './job';
import { blockParameters, latentUpParameters } from './parameters';

/** Matrix products of one shape. */
interface Product {
  /** Operations, a multiply-add being two. */
  readonly flops: number;
  /** Bytes of inputs, weights and results, of one of the three passes on average. */
  readonly bytes: number;
}

/** The sizes of a matrix product in the forward pass: rows x inner by inner x width, and how many there are. */
interface Shape {
  readonly rows: number;
  readonly inner: number;
  readonly width: number;
  readonly times?: number;
}

/**
 * The backward pass multiplies by the weights for the gradients of the input, and by the input for those of the weights, which are
 * added to what is there.
 */
function product({ inputBytes, optimizer, lora }: CostJob, { rows, inner, width, times = 1 }: Shape): Product {
  const activations = ((2 * inputBytes + HALF) / 3) * rows * (inner + width);
  const weights = ((2 * inputBytes + (lora ? 0 : 2 * optimizer.gradBytes)) / 3) * inner * width;
  return { flops: 2 * times * rows * inner * width, bytes: times * (activations + weights) };
}

/** The two products of a feed-forward network. */
const feedForward = (job: CostJob, rows: number, width: number, times = 1): Product[] => {
  const { hiddenSize, gatedLinearUnit } = job.model;
  return width > 0
    ? [
        product(job, { rows, inner: hiddenSize, width: (gatedLinearUnit ? 2 : 1) * width, times }),
        product(job, { rows, inner: width, width: hiddenSize, times }),
      ]
    : [];
};

/** The products of queries, keys and values, and of the output. */
function projections(job: CostJob): Product[] {
  const { hiddenSize, numAttentionHeads: heads, numQueryGroups: groups, kvChannels, mla } = job.model;
  const { tp } = job.degrees;
  const rows = tokensOf(job);
  if (mla) {
    return [product(job, { rows, inner: hiddenSize, width: blockParameters(job, 'attention').dense / hiddenSize })];
  }
  const query = heads * kvChannels;
  // fewer groups than ranks are copied, one a rank
  const keyValue = 2 * Math.max(groups, Math.min(tp, heads)) * kvChannels;
  return [
    product(job, { rows, inner: hiddenSize, width: (query + keyValue) / tp }),
    product(job, { rows, inner: query / tp, width: hiddenSize }),
  ];
}

/** What one block computes in the forward pass of one micro-batch, on one rank. */
export interface Work {
  readonly products: readonly Product[];
  /** Operations of attention between queries and keys, which runs at another efficiency. */
  readonly attentionFlops: number;
  /** Bytes that element-wise kernels (norms, activation functions, residuals, permutation) read and write. */
  readonly movedBytes: number;
  /** How many kernels are started one by one, in parts of those of half a dense layer. */
  readonly starts: number;
}

/**
 * Kernels of each block, and of each expert that has its own, in parts of half a dense layer: `blocks` of bench/planner/machine.py counts
 * 36 of attention, 22 of an MLP, and of experts 78 and 19 each in both passes, and what starting them takes.
 */
const STARTS: Readonly<Record<Block | 'expert', number>> = { attention: 1.3, mlp: 0.7, moe: 2, expert: 0.6, mamba: 1 };

/** The work of one block, in one forward pass. */
export function blockWork(job: CostJob, block: Block): Work {
  const work = workOf(job, block);
  return job.captured.includes(block) ? { ...work, starts: 0 } : work;
}

function workOf(job: CostJob, block: Block): Work {
  const { model, degrees, sequence } = job;
  const tokens = tokensOf(job);
  const width = model.ffnHiddenSize / degrees.tp;
  const hiddenBytes = hiddenMoved(job);
  switch (block) {
    case 'attention': {
      const heads = model.mla
        ? model.numAttentionHeads * (model.mla.qkHeadDim + model.mla.qkPosEmbHeadDim + model.mla.vHeadDim)
        : 2 * model.numAttentionHeads * model.kvChannels;
      // causal: half of the pairs; a kernel that writes the scores computes all of them
      const pairs = tokens * sequence.length * (sequence.scoresTimed ? 1 : 0.5);
      return {
        products: projections(job),
        attentionFlops: (2 * pairs * heads) / degrees.tp,
        movedBytes:
          hiddenBytes +
          scoreBytes(job) +
          job.quantizeBytes * tokens * (model.hiddenSize + (model.numAttentionHeads * model.kvChannels) / degrees.tp),
        starts: STARTS.attention,
      };
    }
    case 'mlp':
      return {
        products: feedForward(job, tokens, width),
        attentionFlops: 0,
        movedBytes:
          hiddenBytes +
          (6 * tokens * model.ffnHiddenSize * (model.gatedLinearUnit ? 1.5 : 1)) / degrees.tp +
          job.quantizeBytes * tokens * (model.hiddenSize + width),
        starts: STARTS.mlp,
      };
    case 'moe':
      return mixtureWork(job, hiddenBytes);
    case 'mamba':
      return {
        // scan and convolution take a fifth of what the projections do
        products: [
          product(job, {
            rows: tokens,
            inner: model.hiddenSize,
            width: blockParameters(job, block).dense / model.hiddenSize,
            times: 1.2,
          }),
        ],
        attentionFlops: 0,
        movedBytes: 3 * hiddenBytes,
        starts: STARTS.mamba,
      };
  }
}

/** Bytes of norm, dropout and residual of one block: read and written about eight times in 16 bits. */
const hiddenMoved = (job: CostJob): number => (16 * job.model.hiddenSize * tokensOf(job)) / sequenceSpread(job);

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
  const { hiddenSize, moe } = job.model;
  const whole = blockWork(job, block);
  if (recomputes(job, block)) {
    return whole;
  }
  const again = (module: string, of: Block, amount: number) => (block === of && recomputes(job, module) ? amount : 0);
  const tokens = tokensOf(job);
  const width = again('mla_up_proj', 'attention', latentUpParameters(job)) / hiddenSize;
  const routed = ((moe?.topk ?? 0) * tokens) / sequenceSpread(job);
  return {
    products: [
      ...(width > 0 ? [product(job, { rows: tokens, inner: hiddenSize, width })] : []),
      ...feedForward(job, tokens, again('shared_experts', 'moe', moe?.sharedFfnHiddenSize ?? 0) / job.degrees.tp),
    ],
    attentionFlops: again('core_attn', 'attention', whole.attentionFlops),
    movedBytes:
      // a norm reads its input and writes its output
      (recomputes(job, 'layernorm') ? hiddenMoved(job) / 4 : 0) +
      again('core_attn', 'attention', scoreBytes(job)) +
      again('moe_act', 'moe', 6 * routed * (moe?.ffnHiddenSize ?? 0)),
    starts: 0,
  };
}

/** Router and shared experts, and the routed tokens of the rank's experts, evenly spread. */
function mixtureWork(job: CostJob, hiddenBytes: number): Work {
  const { model, degrees } = job;
  const { moe } = model;
  if (!moe) {
    return { products: [], attentionFlops: 0, movedBytes: hiddenBytes, starts: STARTS.moe };
  }
  const tokens = tokensOf(job);
  const own = tokens / sequenceSpread(job);
  const experts = moe.numExperts / degrees.ep;
  const routed = own * moe.topk * degrees.exptTp;
  const width = moe.ffnHiddenSize / degrees.exptTp;
  return {
    products: [
      product(job, { rows: own, inner: model.hiddenSize, width: moe.numExperts }),
      ...feedForward(job, tokens, moe.sharedFfnHiddenSize / degrees.tp),
      ...feedForward(job, routed / experts, width, experts),
    ],
    attentionFlops: 0,
    movedBytes:
      hiddenBytes +
      routed * (12 * model.hiddenSize + 8 * width) +
      job.quantizeBytes * routed * (model.hiddenSize + width),
    starts: STARTS.moe + (job.groupedExperts ? 0 : STARTS.expert * experts),
  };
}

/** The work of the output layer and the loss, in one forward pass. */
export function lossWork(job: CostJob): Work {
  const { model, degrees } = job;
  const tokens = tokensOf(job);
  const width = paddedVocab(model, degrees.tp) / degrees.tp;
  const elements = tokens * width;
  return {
    products: width > 0 ? [product(job, { rows: tokens, inner: model.hiddenSize, width })] : [],
    attentionFlops: 0,
    movedBytes: 16 * elements,
    starts: 1,
  };
}
