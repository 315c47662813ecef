import { type Collective, type HiddenBehind, stageCollectives } from './collectives';
import { type GroupPlacements, groupPlacements, linkSeconds } from './groupPlacement';
import {
  BLOCKS,
  type Block,
  blockCount,
  type CostJob,
  microbatches,
  recomputedShare,
  type StageShape,
  shapeOf,
} from './job';
import { trainedParameters } from './states';
import { sentBytes } from './traffic';
import { blockWork, lossWork, recomputedWork, type Work } from './work';

/** What a machine reaches of what its data sheet says; fitted on published runs (docs/cost.md). */
export interface Calibration {
  /** Share of peak operations that large matrix products reach. */
  readonly matrix: number;
  readonly attention: number;
  /** Share of their own peak that products in 4 bits reach, in parts of wider ones: quantization, and layers that stay wider. */
  readonly fp4: number;
  /** Tokens a rank at which a matrix product reaches half of that. */
  readonly halfTokens: number;
  /** Width of a shard at which a matrix product reaches half of that. */
  readonly halfWidth: number;
  readonly memory: number;
  readonly nvlink: number;
  readonly network: number;
  /** Seconds that one block costs however little it computes: kernels are started one by one. */
  readonly blockSeconds: number;
  /** Seconds that a collective of two ranks costs however little it sends, with what they wait for one another. */
  readonly nvlinkSeconds: number;
  readonly networkSeconds: number;
  /** Seconds that each micro-batch of a pipeline costs for every node of the job: stages wait for the slowest of their ranks. */
  readonly handOverSecondsPerNode: number;
  /** Seconds a step: data, logging, synchronization. */
  readonly stepSeconds: number;
}

/**
 * Megatron-LM and its descendants: fitted on half of the groups of vTrain, half of the rows of Megatron Bridge and of Megatron-LM's own
 * GPT, and on Calculon's (docs/cost.md says how well it holds on the others).
 */
export const MEGATRON: Calibration = {
  matrix: 0.88,
  attention: 0.33,
  fp4: 0.7,
  halfTokens: 400,
  halfWidth: 250,
  memory: 0.97,
  nvlink: 0.9,
  network: 0.9,
  blockSeconds: 427e-6,
  nvlinkSeconds: 130e-6,
  networkSeconds: 25e-6,
  handOverSecondsPerNode: 0.032e-3,
  stepSeconds: 7.4e-3,
};

/** nanotron: fitted on the public rows of its benchmark, whose pipelines wait longer the more nodes there are. */
export const NANOTRON: Calibration = {
  ...MEGATRON,
  matrix: 0.87,
  attention: 0.8,
  halfTokens: 300,
  halfWidth: 768,
  memory: 0.7,
  nvlink: 0.6,
  network: 0.46,
  blockSeconds: 500e-6,
  nvlinkSeconds: 33e-6,
  networkSeconds: 0.35e-3,
  handOverSecondsPerNode: 0.021,
  stepSeconds: 0.2,
};

/** The calibration of a job: that of the program that runs it. */
export const calibrationOf = ({ program }: Pick<CostJob, 'program'>): Calibration =>
  program === 'nanotron' ? NANOTRON : MEGATRON;

/**
 * How far measured step times lie from the estimate, as factors, nine times of ten (docs/cost.md): on A100, by which the
 * constants were fitted; on later GPUs; with nanotron, whose runs differ by a factor of ten among themselves; and on GPUs of which no
 * published run says how fast they are.
 */
const TIME_INTERVAL = { a100: [0.8, 1.3], later: [0.7, 2], nanotron: [0.2, 3.8], unmeasured: [0.5, 2.5] } as const;

/** The range of a step time. */
export function timeInterval({ program, hardware }: CostJob, seconds: number): readonly [number, number] {
  const { name, isMeasured } = hardware.gpu;
  const kind = program === 'nanotron' ? program : name === 'a100' ? name : isMeasured ? 'later' : 'unmeasured';
  const [low, high] = TIME_INTERVAL[kind];
  return [seconds * low, seconds * high];
}

/** Seconds of one optimizer step and what they are made of. */
export interface StepTime {
  readonly seconds: number;
  /** Forward and backward pass of the slowest stage for one micro-batch. */
  readonly microbatchSeconds: number;
  /** Share of the step in which a stage waits for others. */
  readonly bubble: number;
  readonly dataParallelSeconds: number;
  readonly optimizerSeconds: number;
  /** Operations of the model in the step, of one GPU on average, as a share of its peak; what is computed again does not count. */
  readonly mfu: number;
}

/** The time of one optimizer step. */
export function stepTime(job: CostJob, calibration: Calibration = calibrationOf(job)): StepTime {
  const clock = new Clock(job, calibration);
  const count = microbatches(job);
  const stages = clock.stages();
  const most = (seconds: (stage: StageTime) => number) => Math.max(...stages.map(seconds));
  const slowest = most(({ microbatch }) => microbatch);
  const vpp = Math.max(...job.stages.map((chunks) => chunks.length));
  const ramp = (stages.reduce((total, { microbatch }) => total + microbatch, 0) - slowest) / vpp;
  const pipeline = count * slowest + ramp + clock.waits();
  const [dataParallel, optimizer] = [most((stage) => stage.dataParallel), most((stage) => stage.optimizer)];
  const links = most((stage) => stage.links);
  // what is hidden behind computation still goes over its link
  const seconds = Math.max(pipeline + dataParallel + optimizer + calibration.stepSeconds, links);
  const flops = stages.reduce((total, stage) => total + stage.flops, 0) / stages.length;
  return {
    seconds,
    microbatchSeconds: slowest,
    bubble: ramp / (count * slowest + ramp),
    dataParallelSeconds: dataParallel,
    optimizerSeconds: optimizer,
    mfu: flops / (seconds * job.hardware.gpu.flops[job.compute]),
  };
}

/** Seconds of one pipeline rank. */
interface StageTime {
  /** Forward and backward pass of one micro-batch, with what it waits for. */
  readonly microbatch: number;
  /** Gradients and parameters between ranks, as far as the step waits for them. */
  readonly dataParallel: number;
  readonly optimizer: number;
  /** What the links need for the bytes of a step at the least. */
  readonly links: number;
  /** Operations of all passes of a step but those that are computed again. */
  readonly flops: number;
}

/** Parameters in one bucket of gradients (`DistributedDataParallelConfig.bucket_size`, megatron/core/distributed). */
const BUCKET = 40e6;

/** Times the stages of one job. */
class Clock {
  readonly #placements: GroupPlacements;
  readonly #blocks: ReadonlyMap<Block, BlockTime>;
  /** Seconds of what selective recomputation computes again of a block. */
  readonly #again: ReadonlyMap<Block, number>;

  constructor(
    readonly job: CostJob,
    readonly calibration: Calibration,
  ) {
    this.#placements = groupPlacements(job);
    const times = (work: (block: Block) => Work) =>
      BLOCKS.map((block) => [block, this.#blockTime(work(block))] as const);
    this.#blocks = new Map(times((block) => blockWork(job, block)));
    this.#again = new Map(
      job.recompute.granularity === 'selective'
        ? times((block) => recomputedWork(job, block)).map(([block, { seconds }]) => [block, seconds])
        : [],
    );
  }

  /** Seconds of each pipeline rank; ranks that hold and send the same are timed once. */
  stages(): readonly StageTime[] {
    const known = new Map<string, StageTime>();
    const count = this.job.stages.length;
    return this.job.stages.map((_, stage) => {
      const { blocks, mtp, chunks } = shapeOf(this.job, stage);
      const edges = [stage - 1, stage].map((edge) => this.#placements.pipelineCrosses[(edge + count) % count]);
      const end = stage === 0 ? 'first' : stage === count - 1 ? 'last' : '';
      const key = `${BLOCKS.map((block) => blocks[block])} ${mtp} ${chunks} ${edges} ${end}`;
      const time = known.get(key) ?? this.#stage(stage);
      known.set(key, time);
      return time;
    });
  }

  /** Stages wait for the slowest of their ranks, the more of them the longer. */
  waits(): number {
    const { degrees, hardware, stages } = this.job;
    const nodes = Math.ceil((degrees.tp * degrees.cp * degrees.dp * stages.length) / hardware.gpusPerNode);
    const handOvers = stages.length > 1 ? microbatches(this.job) + stages.length - 1 : 0;
    return handOvers * nodes * this.calibration.handOverSecondsPerNode;
  }

  #stage(stage: number): StageTime {
    const shape = shapeOf(this.job, stage);
    const rows = stageCollectives(this.job, stage, this.#placements);
    const compute = this.#computeOf(shape);
    const count = microbatches(this.job);
    const exposed = this.#exposed(rows, stage, compute);
    return {
      microbatch: compute.microbatch + exposed.ofMicrobatches / count,
      dataParallel: exposed.ofStep,
      optimizer: this.#optimizer(stage),
      links: linkSeconds(this.job.hardware, sentBytes(rows)),
      flops: 3 * count * this.#flops(shape),
    };
  }

  /**
   * Seconds that a stage waits for collectives: what is left beside the computation that may hide them. Each second of computation
   * hides one second of communication, once.
   */
  #exposed(rows: readonly Collective[], stage: number, compute: StageCompute): Exposed {
    const count = microbatches(this.job);
    // kernels of a block wait for their start whether they compute or send
    let idle = compute.idle * count;
    const budgets: Record<HiddenBehind, number> = {
      nothing: 0,
      attention: compute.attention * count,
      products: compute.products * count,
      'last-backward': compute.backward,
      'first-forward': compute.forward,
      compute: compute.microbatch * count,
    };
    let left = budgets.compute;
    const exposed = { ofMicrobatches: 0, ofStep: 0 };
    for (const behind of HIDDEN) {
      const first = this.#firstPart(behind, stage);
      for (const row of rows.filter(({ hiddenBehind }) => hiddenBehind === behind)) {
        const called = row.timesPerStep * this.#seconds(row);
        const waited = isInsideBlocks(row) ? Math.min(called, idle) : 0;
        idle -= waited;
        const seconds = called - waited;
        const hidden = Math.min(seconds * (1 - first), budgets[behind], left);
        left -= hidden;
        budgets[behind] -= hidden;
        exposed[isOfStep(row) ? 'ofStep' : 'ofMicrobatches'] += seconds - hidden;
      }
    }
    return exposed;
  }

  /** The share of overlapped communication before which, or after which, there is nothing to compute. */
  #firstPart(behind: HiddenBehind, stage: number): number {
    const { dense, expert } = trainedParameters(this.job, stage);
    switch (behind) {
      case 'nothing':
      case 'attention':
        return 0;
      case 'products':
        return 1 / this.job.degrees.tp;
      case 'compute':
        return 1 / Math.max(1, microbatches(this.job) * blockCount(shapeOf(this.job, stage)));
      case 'last-backward':
      case 'first-forward':
        return Math.min(1, BUCKET / Math.max(1, dense + expert));
    }
  }

  /** Seconds of one call. */
  #seconds({ ranks, nvlinkBytes, networkBytes }: Collective): number {
    const { nvlink, network, nvlinkSeconds, networkSeconds } = this.calibration;
    const { gpu, networkBytesPerSecond, ...measured } = this.job.hardware;
    const near = nvlinkBytes / (gpu.nvlinkBytesPerSecond * nvlink);
    const far = networkBytes / (networkBytesPerSecond * network);
    const latency =
      networkBytes > 0
        ? Math.max(networkSeconds, measured.networkSeconds)
        : Math.max(nvlinkSeconds, measured.nvlinkSeconds);
    return Math.max(near, far) + latency * startsOf(ranks);
  }

  /** Reading and writing parameters, gradients and states once. */
  #optimizer(stage: number): number {
    const { optimizer, degrees, hardware } = this.job;
    const { dense, expert } = trainedParameters(this.job, stage);
    const shards = optimizer.distributed ? Math.max(1, (degrees.dp * degrees.cp) / optimizer.instances) : 1;
    const expertShards = optimizer.distributed ? Math.max(1, degrees.exptDp / optimizer.instances) : 1;
    const bytes = optimizer.paramBytes + 2 * optimizer.gradBytes + 2 * optimizer.stateBytes;
    return (
      ((dense / shards + expert / expertShards) * bytes) / (hardware.gpu.memoryBytesPerSecond * this.calibration.memory)
    );
  }

  /** Operations of one forward pass. */
  #flops(shape: StageShape): number {
    const works = BLOCKS.map((block) => ({ work: blockWork(this.job, block), times: shape.blocks[block] }));
    const all = [...works, { work: lossWork(this.job), times: shape.loss ? 1 + shape.mtp : 0 }];
    return all.reduce((total, { work, times }) => {
      const products = work.products.reduce((sum, { flops }) => sum + flops, 0);
      return total + times * (products + work.attentionFlops);
    }, 0);
  }

  #computeOf(shape: StageShape): StageCompute {
    const again = recomputedShare(this.job, shape);
    const total = (part: (time: BlockTime) => number) =>
      [...this.#blocks].reduce((sum, [block, time]) => sum + shape.blocks[block] * part(time), 0);
    const loss = shape.loss ? this.#blockTime(lossWork(this.job)).seconds * (1 + shape.mtp) : 0;
    const blocks = total(({ seconds }) => seconds);
    const partsAgain = [...this.#again].reduce((sum, [block, seconds]) => sum + shape.blocks[block] * seconds, 0);
    const forward = blocks + loss;
    // no weight gradients of a model that stays as it is
    const weightGradients = this.job.lora ? total(({ multiplied }) => multiplied) : 0;
    const backward = (2 + again) * blocks + 2 * loss + partsAgain - weightGradients;
    return {
      forward,
      backward,
      microbatch: forward + backward,
      attention: (3 + again) * total(({ attention }) => attention),
      products: (3 + again) * total(({ products }) => products),
      idle: (3 + again) * total(({ idle }) => idle),
    };
  }

  #blockTime({ products, attentionFlops, movedBytes, starts }: Work): BlockTime {
    const { hardware, compute } = this.job;
    const { matrix, attention, memory, halfTokens, halfWidth, blockSeconds } = this.calibration;
    const moved = hardware.gpu.memoryBytesPerSecond * memory;
    const narrow = compute === 'fp4' ? this.calibration.fp4 : 1;
    const peak = hardware.gpu.flops[compute] * hardware.gpu.matrixShare * matrix * narrow;
    const multiplied = products.reduce((total, { flops, tokens, width, weightBytes }) => {
      const reached = peak * (tokens / (tokens + halfTokens)) * (width / (width + halfWidth));
      return total + Math.max(flops / reached, weightBytes / moved);
    }, 0);
    const attended = attentionFlops / (hardware.gpu.flops.bf16 * attention);
    const others = movedBytes / moved;
    // kernels queue behind one another: a short block costs what starting its kernels costs
    const busy = multiplied + attended + others;
    const seconds = Math.max(busy, starts * blockSeconds);
    return {
      seconds,
      multiplied,
      products: seconds - attended - others,
      attention: attentionFlops > 0 ? seconds - multiplied - others : 0,
      idle: seconds - busy,
    };
  }
}

/** How often the latency of two ranks a collective takes: half of it again for every doubling of its ranks. */
export const startsOf = (ranks: number): number => (1 + Math.log2(ranks)) / 2;

/** The narrowest first: what may run behind all computation takes what the others leave. */
const HIDDEN: readonly HiddenBehind[] = [
  'nothing',
  'attention',
  'products',
  'last-backward',
  'first-forward',
  'compute',
];

/** Whether a collective runs once a step, beside the micro-batches. */
const isOfStep = ({ carries, timesPerStep }: Collective): boolean =>
  timesPerStep === 1 && (carries === 'gradients' || carries === 'parameters');

/** Whether a collective is started among the kernels of a block. */
const isInsideBlocks = ({ group, carries }: Collective): boolean =>
  carries === 'tokens' || carries === 'keys and values' || (carries === 'activations' && group !== 'pp');

/** Seconds of one forward pass of one block. */
interface BlockTime {
  readonly seconds: number;
  /** Matrix products alone. */
  readonly multiplied: number;
  /** Of these, those in which matrix products, or the attention between queries and keys, may hide communication. */
  readonly products: number;
  readonly attention: number;
  /** Of these, those in which the GPU waits for the start of the next kernel. */
  readonly idle: number;
}

/** Seconds that a step waits for communication of its micro-batches, and once. */
interface Exposed {
  readonly ofMicrobatches: number;
  readonly ofStep: number;
}

/** Seconds that a stage computes for one micro-batch. */
interface StageCompute {
  readonly forward: number;
  readonly backward: number;
  readonly microbatch: number;
  /** Of these, those of attention between queries and keys, and of matrix products, of all passes. */
  readonly attention: number;
  readonly products: number;
  /** Seconds of all passes in which the GPU waits for the start of the next kernel. */
  readonly idle: number;
}
