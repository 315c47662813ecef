import {
  type Block,
  blocksOf,
  type Chunk,
  type CostJob,
  HALF,
  microbatches,
  recomputes,
  sequenceSpread,
  tokensOf,
} from './job';
import { type Link, linksOf } from './links';
import { stageParameters } from './states';
import { blockWork, lossWork, type Work } from './work';

/** What a machine reaches of what its data sheet says; fitted on published runs (docs/cost.md). */
export interface Calibration {
  /** Share of peak operations that large matrix products reach. */
  readonly matrix: number;
  readonly attention: number;
  /** Tokens a rank at which a matrix product reaches half of that. */
  readonly halfTokens: number;
  /** Width of a shard at which a matrix product reaches half of that. */
  readonly halfWidth: number;
  readonly memory: number;
  readonly nvlink: number;
  readonly network: number;
  /** Seconds that one block costs however little it computes: kernels are started one by one. */
  readonly blockSeconds: number;
  /** Seconds that a collective costs however little it sends, for every doubling of its ranks. */
  readonly nvlinkSeconds: number;
  readonly networkSeconds: number;
  /** Share of the data-parallel traffic that the step waits for, when it overlaps with the backward pass and when it does not. */
  readonly exposedOverlap: number;
  readonly exposed: number;
  /** Seconds that each micro-batch of a pipeline costs for every node of the job: stages wait for the slowest of their ranks. */
  readonly handOverSecondsPerNode: number;
  /** Seconds a step: data, logging, synchronization. */
  readonly stepSeconds: number;
}

/**
 * Megatron-LM and its descendants: fitted on the public rows of vTrain and Calculon (docs/cost.md says how well it holds on these
 * and on others).
 */
export const MEGATRON: Calibration = {
  matrix: 0.75,
  attention: 0.6,
  halfTokens: 150,
  halfWidth: 159,
  memory: 0.97,
  nvlink: 0.8,
  network: 0.97,
  blockSeconds: 365e-6,
  nvlinkSeconds: 16e-6,
  networkSeconds: 29e-6,
  exposedOverlap: 0.05,
  exposed: 0.32,
  handOverSecondsPerNode: 0.15e-3,
  stepSeconds: 18e-3,
};

/** nanotron: fitted on the public rows of its benchmark, whose pipelines wait longer the more nodes there are. */
export const NANOTRON: Calibration = {
  ...MEGATRON,
  matrix: 0.8,
  attention: 0.8,
  halfTokens: 300,
  halfWidth: 768,
  memory: 0.7,
  nvlink: 0.6,
  network: 0.23,
  blockSeconds: 500e-6,
  nvlinkSeconds: 33e-6,
  networkSeconds: 1.37e-3,
  exposed: 1,
  handOverSecondsPerNode: 0.024,
  stepSeconds: 0.2,
};

/** Seconds of one optimizer step and what they are made of. */
export interface StepTime {
  readonly seconds: number;
  /** Forward and backward pass of the slowest stage for one micro-batch. */
  readonly microbatchSeconds: number;
  /** Share of the step in which a stage waits for others. */
  readonly bubble: number;
  readonly dataParallelSeconds: number;
  readonly optimizerSeconds: number;
}

/** The time of one optimizer step. */
export function stepTime(job: CostJob, calibration: Calibration = MEGATRON): StepTime {
  const clock = new Clock(job, calibration);
  const count = microbatches(job);
  const stages = job.stages.map((chunks) => chunks.map((chunk) => clock.chunk(chunk)).reduce((a, b) => a + b, 0));
  const slowest = Math.max(...stages);
  const vpp = Math.max(...job.stages.map((chunks) => chunks.length));
  const ramp = (stages.reduce((a, b) => a + b, 0) - slowest) / vpp;
  const nodes = Math.ceil(
    (job.degrees.tp * job.degrees.cp * job.degrees.dp * job.stages.length) / job.hardware.gpusPerNode,
  );
  const waits =
    job.stages.length > 1 ? (count + job.stages.length - 1) * nodes * calibration.handOverSecondsPerNode : 0;
  const pipeline = count * slowest + ramp + waits;
  const dataParallel = Math.max(...job.stages.map((_, stage) => clock.dataParallel(stage)));
  const optimizer = Math.max(...job.stages.map((_, stage) => clock.optimizer(stage)));
  return {
    seconds: pipeline + dataParallel + optimizer + calibration.stepSeconds,
    microbatchSeconds: slowest,
    bubble: ramp / (count * slowest + ramp),
    dataParallelSeconds: dataParallel,
    optimizerSeconds: optimizer,
  };
}

/** Times the parts of one job. */
class Clock {
  readonly #links;

  constructor(
    readonly job: CostJob,
    readonly calibration: Calibration,
  ) {
    this.#links = linksOf(job);
  }

  /** Forward and backward pass of one virtual stage for one micro-batch, with what it sends to the next stage. */
  chunk(chunk: Chunk): number {
    const { recompute } = this.job;
    const blocks = blocksOf(this.job, chunk);
    const forward = blocks.reduce((total, block) => total + this.#compute(blockWork(this.job, block)), 0);
    const talk = blocks.reduce((total, block) => total + this.#talk(block), 0);
    const again = recompute.granularity === 'full' ? this.#recomputedShare(chunk) : 0;
    const scores = recomputes(this.job, 'core_attn') ? this.#scoresAgain(blocks) : 0;
    const loss = chunk.loss ? 3 * this.#compute(lossWork(this.job)) : 0;
    return (3 + again) * forward + (2 + again) * talk + scores + loss + this.#handOver();
  }

  /** Gradients reduced and parameters gathered over the data-parallel ranks, as far as the step waits for them. */
  dataParallel(stage: number): number {
    const { optimizer, fsdp } = this.job;
    const { exposed, exposedOverlap } = this.calibration;
    const { dense, expert } = stageParameters(this.job, stage);
    const reduce = optimizer.gradBytes;
    const gather = optimizer.distributed || fsdp !== 'no_shard' ? optimizer.paramBytes : optimizer.gradBytes;
    const time = (parameters: number, link: Link): number =>
      this.#ring(parameters * reduce, link) * (optimizer.overlapGradReduce ? exposedOverlap : exposed) +
      this.#ring(parameters * gather, link) * (optimizer.overlapParamGather ? exposedOverlap : exposed);
    return time(dense, this.#links.dp) + time(expert, this.#links.exptDp);
  }

  /** Reading and writing parameters, gradients and states once. */
  optimizer(stage: number): number {
    const { optimizer, degrees, hardware } = this.job;
    const { dense, expert } = stageParameters(this.job, stage);
    const shards = optimizer.distributed ? Math.max(1, (degrees.dp * degrees.cp) / optimizer.instances) : 1;
    const expertShards = optimizer.distributed ? Math.max(1, degrees.exptDp / optimizer.instances) : 1;
    const bytes = optimizer.paramBytes + 2 * optimizer.gradBytes + 2 * optimizer.stateBytes;
    return (
      ((dense / shards + expert / expertShards) * bytes) / (hardware.gpu.memoryBytesPerSecond * this.calibration.memory)
    );
  }

  #compute({ matrixFlops, attentionFlops, movedBytes }: Work): number {
    const { hardware, compute, model, degrees } = this.job;
    const { matrix, attention, memory, halfTokens, halfWidth, blockSeconds } = this.calibration;
    const tokens = tokensOf(this.job);
    const width = model.ffnHiddenSize / degrees.tp;
    const peak =
      hardware.gpu.flops[compute] *
      hardware.gpu.matrixShare *
      matrix *
      (tokens / (tokens + halfTokens)) *
      (width / (width + halfWidth));
    const half = hardware.gpu.flops.bf16 * attention;
    const busy = matrixFlops / peak + attentionFlops / half + movedBytes / (hardware.gpu.memoryBytesPerSecond * memory);
    // kernels queue behind one another: a short block costs what starting its kernels costs
    return Math.max(busy, blockSeconds);
  }

  /** What a block sends in its forward pass: its TP region, its context ring, its experts' tokens. */
  #talk(block: Block): number {
    const { model, degrees } = this.job;
    const hidden = HALF * tokensOf(this.job) * model.hiddenSize;
    const region = 2 * this.#ring(hidden, this.#links.tp);
    if (block === 'attention' && degrees.cp > 1) {
      const keyValue = (4 * tokensOf(this.job) * model.numQueryGroups * model.kvChannels * degrees.cp) / degrees.tp;
      return region + this.#ring(keyValue, this.#links.cp) * this.calibration.exposedOverlap;
    }
    if (block === 'moe') {
      const tokens = (hidden / sequenceSpread(this.job)) * (model.moe?.topk ?? 1);
      return region + 2 * this.#ring(tokens, this.#links.ep);
    }
    return region;
  }

  /** One half of a ring all-reduce: every rank sends (n - 1) / n of the bytes. */
  #ring(bytes: number, link: Link): number {
    const { ranks } = link;
    return ranks <= 1 ? 0 : this.#sending((bytes * (ranks - 1)) / ranks, link, Math.log2(ranks));
  }

  /** Seconds for a number of bytes over a link, in so many steps of which each waits for the one before. */
  #sending(bytes: number, { tier, bytesPerSecond }: Link, steps: number): number {
    const { nvlink, network, nvlinkSeconds, networkSeconds } = this.calibration;
    const [share, latency] = tier === 'nvlink' ? [nvlink, nvlinkSeconds] : [network, networkSeconds];
    return bytes / (bytesPerSecond * share) + latency * steps;
  }

  /** Activations and gradients that go to the neighbouring stages. */
  #handOver(): number {
    const { pp } = this.#links;
    if (pp.ranks <= 1) {
      return 0;
    }
    const bytes = (HALF * tokensOf(this.job) * this.job.model.hiddenSize) / sequenceSpread(this.job);
    const seconds = 2 * this.#sending(bytes, pp, 1);
    // the interleaved schedule sends while it computes another chunk (overlap_p2p_comm)
    return this.job.stages.some(({ length }) => length > 1) ? seconds * this.calibration.exposedOverlap : seconds;
  }

  #recomputedShare(chunk: Chunk): number {
    const { recompute } = this.job;
    const layers = chunk.blocks.length / 2;
    return recompute.granularity === 'full' && recompute.layers !== null && layers > 0
      ? Math.min(1, recompute.layers / layers)
      : 1;
  }

  #scoresAgain(blocks: readonly Block[]): number {
    const attention = blocks.filter((block) => block === 'attention');
    return attention.reduce((total, block) => {
      const { attentionFlops, scoreBytes } = blockWork(this.job, block);
      return total + this.#compute({ matrixFlops: 0, attentionFlops, movedBytes: scoreBytes, scoreBytes });
    }, 0);
  }
}
