import { memoize } from '../memoize';

/**
 * All facts on which the cost of a training step depends, none of them unknown: the code that makes a job assumes what a file
 * leaves out, and lists it.
 */
export interface CostJob {
  /** The program that runs the job; how long its steps take is calibrated apart. */
  readonly program: 'megatron' | 'nanotron';
  readonly model: CostModel;
  readonly degrees: CostDegrees;
  /** What each pipeline rank holds, pipeline rank 0 first; of each its model chunks, virtual stage 0 first. */
  readonly stages: readonly (readonly Chunk[])[];
  readonly batch: {
    /** Sequences in one micro-batch of one replica, and in one optimizer step. */
    readonly micro: number;
    readonly global: number;
  };
  readonly sequence: CostSequence;
  readonly optimizer: CostOptimizer;
  readonly recompute: Recompute;
  readonly fsdp: Fsdp;
  /** Bytes of a GPU that an engine takes while it generates samples, in turn with the training; 0 without one. */
  readonly engineBytes: number;
  /** Low-rank adapters, which train in place of the model; null: the model trains. */
  readonly lora: { readonly rank: number } | null;
  readonly hardware: Hardware;
  /** The rank order, such as `tp-cp-ep-dp-pp`, and the first global rank of the job: they decide which link a group talks over. */
  readonly order: string;
  readonly rankOffset: number;
  readonly communication: CostCommunication;
  /** Type of matrix products. */
  readonly compute: ComputeType;
  /** Bytes of an element of the input that a matrix product keeps for the backward pass. */
  readonly inputBytes: number;
  /** Bytes that are read and written to make one element of such an input of 16 bits; 0 where it stays as it is. */
  readonly quantizeBytes: number;
  /** The dispatcher of MoE tokens (`--moe-token-dispatcher-type`). */
  readonly dispatcher: 'allgather' | 'alltoall' | 'flex';
  /** Whether the experts of a rank are one grouped product (`--moe-grouped-gemm`); else each starts kernels of its own. */
  readonly groupedExperts: boolean;
  /** Blocks that CUDA graphs replay, whose kernels need no starting. */
  readonly captured: readonly Block[];
}

/** What of a job its weights and optimizer states follow from. */
export type WeightJob = Pick<CostJob, 'model' | 'degrees' | 'stages' | 'optimizer' | 'fsdp' | 'lora'>;

/** A block of a model: half of a transformer layer, or one layer of a hybrid model. */
export type Block = 'attention' | 'mlp' | 'moe' | 'mamba';

/** What one virtual stage of one pipeline rank holds. */
export interface Chunk {
  readonly blocks: readonly Block[];
  /** The word embedding (and the position embedding). */
  readonly embedding: boolean;
  /** Final norm, output layer and loss. */
  readonly loss: boolean;
  /** Multi-token prediction layers. */
  readonly mtp: number;
}

/** The shape of a model; sizes in elements. */
export interface CostModel {
  readonly hiddenSize: number;
  readonly ffnHiddenSize: number;
  readonly numAttentionHeads: number;
  readonly numQueryGroups: number;
  readonly kvChannels: number;
  /** Before padding; null where it is not known: then embedding, output layer and logits are left out. */
  readonly vocabSize: number | null;
  /** The vocabulary is padded to a multiple of this times tp. */
  readonly vocabDivisibleBy: number;
  readonly gatedLinearUnit: boolean;
  /** Whether the output layer has weights of its own. */
  readonly untied: boolean;
  /** Whether linear layers have a bias. */
  readonly bias: boolean;
  /** RMSNorm has a weight, LayerNorm a weight and a bias. */
  readonly rmsNorm: boolean;
  /** Rows of a learned position embedding; 0 where positions are rotary or absent. */
  readonly learnedPositions: number;
  readonly mla: LatentAttention | null;
  readonly moe: ExpertShape | null;
  readonly mamba: MambaShape | null;
}

/** Ranks of multi-latent attention (`--q-lora-rank` and so on). */
export interface LatentAttention {
  /** Null: queries are projected directly. */
  readonly qLoraRank: number | null;
  readonly kvLoraRank: number;
  readonly qkHeadDim: number;
  readonly qkPosEmbHeadDim: number;
  readonly vHeadDim: number;
}

/** The experts of an MoE layer. */
export interface ExpertShape {
  readonly numExperts: number;
  readonly topk: number;
  readonly ffnHiddenSize: number;
  /** Width of the shared expert; 0 without. */
  readonly sharedFfnHiddenSize: number;
}

/** A Mamba-2 mixer (megatron/core/ssm/mamba_mixer.py): its heads, and how wide they and the states of all groups are together. */
export interface MambaShape {
  readonly numHeads: number;
  readonly inner: number;
  readonly states: number;
}

export interface CostDegrees {
  readonly tp: number;
  readonly cp: number;
  readonly pp: number;
  readonly dp: number;
  readonly ep: number;
  readonly exptTp: number;
  readonly exptDp: number;
}

export interface CostSequence {
  /** Tokens in one sequence. */
  readonly length: number;
  readonly sequenceParallel: boolean;
  /** Whether attention writes its scores to memory; flash and fused attention do not. */
  readonly scoresInMemory: boolean;
  /** Whether the time is that of attention which writes its scores, as in the published runs on A100. */
  readonly scoresTimed: boolean;
  /** Whether dropout of hidden states keeps a mask. */
  readonly dropout: boolean;
  /** Whether the loss is computed by a fused kernel, which keeps one more copy of the logits in fp32. */
  readonly fusedCrossEntropy: boolean;
  /** Whether log-probabilities of the tokens are taken in fp32 beside the loss, as reinforcement learning does. */
  readonly logProbs: boolean;
}

export interface CostOptimizer {
  /** Bytes a parameter: the parameter itself, its gradient, and the optimizer's states (main copy and moments). */
  readonly paramBytes: number;
  /** Bytes a parameter of a linear layer of narrower copies that matrix products read. */
  readonly copyBytes: number;
  readonly gradBytes: number;
  /** Bytes a parameter of the copies in fp32 that the optimizer makes of narrower gradients for its step. */
  readonly gradCopyBytes: number;
  readonly stateBytes: number;
  /** Bytes a parameter of these states in a checkpoint, which holds them in fp32 wherever and however the job keeps them. */
  readonly savedStateBytes: number;
  /** Bytes a parameter that are gathered after the optimizer's step. */
  readonly gatherBytes: number;
  /** Whether states are sharded over dp x cp (`--use-distributed-optimizer`). */
  readonly distributed: boolean;
  /** In how many instances the sharded states are replicated. */
  readonly instances: number;
  readonly overlapGradReduce: boolean;
  readonly overlapParamGather: boolean;
}

/** How groups exchange what they exchange, and what they overlap. */
export interface CostCommunication {
  /** `tp_comm_overlap`, `overlap_moe_expert_parallel_comm`, `overlap_p2p_comm`. */
  readonly tensorOverlap: boolean;
  readonly expertOverlap: boolean;
  readonly pipelineOverlap: boolean;
  readonly contextExchange: 'p2p' | 'all_gather' | 'a2a' | 'a2a+p2p';
  /** Sizes of the levels of hierarchical context parallelism, the inner one first; empty where there is one level. */
  readonly contextLevels: readonly number[];
}

/** Activations that are computed again in the backward pass. */
export type Recompute =
  | { readonly granularity: 'none' }
  /** `modules`: the parts that are recomputed, by Megatron's names (`recompute_modules`). */
  | { readonly granularity: 'selective'; readonly modules: readonly string[] }
  /** `layers`: recomputed layers of a pipeline rank; null: all, one at a time. */
  | { readonly granularity: 'full'; readonly layers: number | null };

/** What fully sharded data parallelism spreads over the ranks. */
export type Fsdp = 'no_shard' | 'optim' | 'optim_grads' | 'optim_grads_params';

export type ComputeType = 'fp32' | 'bf16' | 'fp16' | 'fp8' | 'fp4';

/** One kind of GPU and the links between GPUs. */
export interface Hardware {
  readonly gpu: GpuKind;
  readonly gpusPerNode: number;
  /** GPUs that reach each other over NVLink. */
  readonly gpusPerNvlinkDomain: number;
  /** Bytes a second that one GPU sends through the network. */
  readonly networkBytesPerSecond: number;
  /** Seconds that a collective of two ranks takes at the least over each link; 0 where nobody measured it. */
  readonly nvlinkSeconds: number;
  readonly networkSeconds: number;
}

/** One row of the table of GPUs; bytes a second and operations a second are per GPU, as its source states them. */
export interface GpuKind {
  readonly name: string;
  readonly memoryBytes: number;
  readonly memoryBytesPerSecond: number;
  readonly nvlinkBytesPerSecond: number;
  /** The network card beside each GPU in systems of its kind; null: no source says it. */
  readonly networkBytesPerSecond: number | null;
  /** GPUs that reach one another over NVLink where that is more than a node: 72 of GB200 and GB300; null: a node. */
  readonly nvlinkDomain: number | null;
  readonly flops: Readonly<Record<ComputeType, number>>;
  /** Bytes that the libraries hold between steps: workspaces of cuBLAS and Transformer Engine. */
  readonly workspaceBytes: number;
  /** Operations a second that large matrix products reach, and fused attention in 16 bits. */
  readonly products: Readonly<Record<ComputeType, number>>;
  readonly attention: number;
  /** Whether these were measured on it. */
  readonly isMeasured: boolean;
}

/** Whether a part of a layer is computed again in the backward pass, of selective recomputation. */
export function recomputes({ recompute }: CostJob, module: string): boolean {
  return recompute.granularity === 'selective' && recompute.modules.includes(module);
}

/** Ranks of a job. */
export const ranksOf = ({ degrees: { tp, cp, pp, dp } }: WeightJob): number => tp * cp * pp * dp;

/** Tokens that a GPU trains on in a second. @param seconds of one step */
export const tokensPerSecond = (job: CostJob, seconds: number): number =>
  (job.batch.global * job.sequence.length) / seconds / ranksOf(job);

/** Micro-batches that one replica runs in a step. */
export function microbatches({ batch, degrees }: CostJob): number {
  return Math.max(1, Math.ceil(batch.global / (batch.micro * degrees.dp)));
}

/** Over how many ranks sequence parallelism spreads what lies between the TP regions. */
export function sequenceSpread({ sequence, degrees }: CostJob): number {
  return sequence.sequenceParallel ? degrees.tp : 1;
}

/** The vocabulary as Megatron pads it (`_vocab_size_with_padding`, megatron/training/tokenizer). */
export function paddedVocab({ vocabSize, vocabDivisibleBy }: CostModel, tp: number): number {
  const multiple = vocabDivisibleBy * tp;
  return vocabSize === null ? 0 : Math.ceil(vocabSize / multiple) * multiple;
}

/** Bytes of a number of 16 bits. */
export const HALF = 2;

/** Tokens of one micro-batch that one rank works on between its TP regions. */
export function tokensOf({ batch, sequence, degrees }: CostJob): number {
  return (batch.micro * sequence.length) / degrees.cp;
}

/** What a pipeline rank holds, counted: its chunks together, with the layers of its multi-token prediction. */
export interface StageShape {
  readonly blocks: Readonly<Record<Block, number>>;
  readonly chunks: number;
  readonly embedding: boolean;
  readonly loss: boolean;
  readonly mtp: number;
}

/** What a pipeline rank holds. */
export function shapeOf({ model, stages }: WeightJob, stage: number): StageShape {
  return shapeOfChunks(model, stages[stage] ?? NO_CHUNKS);
}

/** What some virtual stages hold together. */
export function shapeOfChunks(model: CostModel, chunks: readonly Chunk[]): StageShape {
  const counted = countedChunks(chunks);
  const { blocks, mtp } = counted;
  const feedForward = model.moe ? 'moe' : 'mlp';
  return mtp === 0
    ? counted
    : {
        ...counted,
        blocks: { ...blocks, attention: blocks.attention + mtp, [feedForward]: blocks[feedForward] + mtp },
      };
}

const NO_CHUNKS: readonly Chunk[] = [];

const countedChunks = memoize((chunks: readonly Chunk[]): StageShape => {
  const blocks = { attention: 0, mlp: 0, moe: 0, mamba: 0 };
  for (const chunk of chunks) {
    for (const block of chunk.blocks) {
      blocks[block]++;
    }
  }
  return {
    blocks,
    chunks: Math.max(1, chunks.length),
    embedding: chunks.some(({ embedding }) => embedding),
    loss: chunks.some(({ loss }) => loss),
    mtp: chunks.reduce((total, { mtp }) => total + mtp, 0),
  };
});

/** The kinds of blocks. */
export const BLOCKS: readonly Block[] = ['attention', 'mlp', 'moe', 'mamba'];

/** The sum of a number over all blocks of a pipeline rank. */
export const sumOfBlocks = ({ blocks }: StageShape, value: (block: Block) => number): number =>
  BLOCKS.reduce((sum, block) => (blocks[block] > 0 ? sum + blocks[block] * value(block) : sum), 0);

/** The largest layer of a pipeline rank: of its mixers and of its feed-forward networks the largest. */
export function largestLayer({ blocks }: StageShape, value: (block: Block) => number): number {
  const largest = (kinds: readonly Block[]) => Math.max(0, ...kinds.filter((kind) => blocks[kind] > 0).map(value));
  return largest(['attention', 'mamba']) + largest(['mlp', 'moe']);
}

/** Blocks of a pipeline rank. */
export const blockCount = ({ blocks }: StageShape): number => blocks.attention + blocks.mlp + blocks.moe + blocks.mamba;

/** The share of a pipeline rank's layers that full recomputation computes again: `layers` of each of its chunks, or all. */
export function recomputedShare({ recompute }: CostJob, shape: StageShape): number {
  const layers = blockCount(shape) / 2;
  if (recompute.granularity !== 'full') {
    return 0;
  }
  return recompute.layers === null || layers === 0 ? 1 : Math.min(1, (recompute.layers * shape.chunks) / layers);
}
