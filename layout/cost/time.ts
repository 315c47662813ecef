import { type Collective, HIDDEN_BEHIND, type HiddenBehind, stageCollectives } from './collectives';
import { type GroupPlacements, groupPlacements, linkSeconds } from './groupPlacement';
import {
  BLOCKS,
  type Block,
  blockCount,
  type CostJob,
  microbatches,
  ranksOf,
  recomputedShare,
  type StageShape,
  shapeOf,
} from './job';
import { fullestOf, memoryOf } from './memory';
import { trainedParameters, updatedParameters } from './states';
import { sentBytes } from './traffic';
import { blockWork, lossWork, recomputedWork, type Work } from './work';

/** What a program reaches of what kernels and links reach alone (docs/cost.md says by which runs, and how well it holds on others). */
export interface Calibration {
  /** Share of what fused attention reaches alone that it reaches in a step. */
  readonly attention: number;
  /** Share of what matrix products reach at which attention runs that writes its scores. */
  readonly unfused: number;
  /** How much longer experts take than their products and moves alone: small kernels between them, counts that are waited for. */
  readonly experts: number;
  readonly memory: number;
  readonly nvlink: number;
  readonly network: number;
  /** Seconds that one block costs however little it computes: kernels are started one by one. */
  readonly blockSeconds: number;
  /** Seconds that a collective of two ranks costs however little it sends, with what they wait for one another. */
  readonly nvlinkSeconds: number;
  readonly networkSeconds: number;
  /** Seconds that handing on a micro-batch to the next stage takes at the least, for every node of the job. */
  readonly handOverSecondsPerNode: number;
  /** Seconds that each micro-batch costs where the memory of a GPU is nearly full. */
  readonly fullSeconds: number;
  /** Seconds a step: data, logging, synchronization. */
  readonly stepSeconds: number;
}

/** Megatron-LM and its descendants: bandwidth of NVLink and share of attention measured, the others fitted on half of the runs. */
export const MEGATRON: Calibration = {
  attention: 0.8,
  unfused: 0.7,
  experts: 1.6,
  memory: 0.9,
  nvlink: 0.72,
  network: 0.9,
  blockSeconds: 415e-6,
  nvlinkSeconds: 110e-6,
  networkSeconds: 25e-6,
  handOverSecondsPerNode: 0,
  fullSeconds: 0,
  stepSeconds: 4e-3,
};

/** nanotron: fitted on half of the runs of its benchmark, where a micro-batch is handed on the slower the more nodes there are. */
export const NANOTRON: Calibration = {
  ...MEGATRON,
  attention: 1,
  memory: 1,
  nvlink: 0.44,
  network: 0.49,
  blockSeconds: 0.91e-3,
  nvlinkSeconds: 14e-6,
  networkSeconds: 0.42e-3,
  handOverSecondsPerNode: 7.5e-3,
  fullSeconds: 0.86,
  stepSeconds: 1e-3,
};

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
  /** Share of the step in which a stage waits for others, of all stages on average: what ramps and uneven stages leave idle. */
  readonly bubble: number;
  /** Operations of the model in the step, of one GPU on average, as a share of its peak; what is computed again does not count. */
  readonly mfu: number;
}

/** The time of one optimizer step. @param calibration that of the program that runs the job */
export function stepTime(job: CostJob, calibration = job.program === 'nanotron' ? NANOTRON : MEGATRON): StepTime {
  const clock = new Clock(job, calibration);
  const count = microbatches(job);
  const stages = clock.stages();
  const most = (seconds: (stage: StageTime) => number) => Math.max(...stages.map(seconds));
  const slowest = most(({ microbatch }) => microbatch);
  const vpp = Math.max(...job.stages.map((chunks) => chunks.length));
  const together = stages.reduce((total, { microbatch }) => total + microbatch, 0);
  const ramp = (together - slowest) / vpp;
  const pipeline = count * slowest + ramp + clock.waits(slowest);
  const links = most((stage) => stage.links);
  // what is hidden behind computation still goes over its link
  const seconds = Math.max(pipeline + most(({ update }) => update) + calibration.stepSeconds, links);
  const flops = stages.reduce((total, stage) => total + stage.flops, 0) / stages.length;
  return {
    seconds,
    microbatchSeconds: slowest,
    bubble: 1 - (count * together) / stages.length / (count * slowest + ramp),
    mfu: flops / (seconds * job.hardware.gpu.flops[job.compute]),
  };
}

/** Seconds of one pipeline rank. */
interface StageTime {
  /** Forward and backward pass of one micro-batch, with what it waits for. */
  readonly microbatch: number;
  /** Gradients and parameters between ranks, as far as the step waits for them, and the optimizer. */
  readonly update: number;
  /** What the links need for the bytes of a step at the least. */
  readonly links: number;
  /** Operations of all passes of a step but those that are computed again. */
  readonly flops: number;
}

/** Share of a GPU's memory from which on its allocator runs out of what it has at hand. */
const FULL = 0.91;

/** Share of the time of their operands that matrix products add to that of their operations: as in the kernels of `Reached` in gpus.ts. */
const OPERANDS = 0.75;

/** Parameters in one bucket of gradients (`DistributedDataParallelConfig.bucket_size`, megatron/core/distributed). */
const BUCKET = 40e6;

/** Times the stages of one job. */
class Clock {
  readonly #placements: GroupPlacements;
  readonly #blocks: ReadonlyMap<Block, BlockTime>;
  /** What selective recomputation computes again of a block. */
  readonly #again: ReadonlyMap<Block, BlockTime>;
  readonly #loss: BlockTime;

  constructor(
    readonly job: CostJob,
    readonly calibration: Calibration,
  ) {
    this.#placements = groupPlacements(job);
    const times = (work: (block: Block) => Work) =>
      BLOCKS.map((block) => [block, this.#blockTime(work(block), block === 'moe' ? calibration.experts : 1)] as const);
    this.#blocks = new Map(times((block) => blockWork(job, block)));
    this.#again = new Map(
      job.recompute.granularity === 'selective' ? times((block) => recomputedWork(job, block)) : [],
    );
    this.#loss = this.#blockTime(lossWork(job));
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

  /**
   * Seconds in which stages wait beyond what they compute: a micro-batch is handed on no faster, and a GPU that is nearly full gives memory
   * back and asks for it anew in each.
   */
  waits(microbatchSeconds: number): number {
    const { degrees, hardware, stages } = this.job;
    const { handOverSecondsPerNode, fullSeconds } = this.calibration;
    const nodes = Math.ceil(ranksOf(this.job) / hardware.gpusPerNode);
    const needed = fullSeconds > 0 ? (fullestOf(memoryOf(this.job))?.totalBytes ?? 0) : 0;
    const isFull = needed > FULL * hardware.gpu.memoryBytes;
    const slots = microbatches(this.job) + stages.length - 1;
    const handOver = stages.length > 1 ? handOverSecondsPerNode * nodes * startsOf(2 * degrees.tp) : 0;
    return slots * (Math.max(0, handOver - microbatchSeconds) + (isFull ? fullSeconds : 0));
  }

  #stage(stage: number): StageTime {
    const shape = shapeOf(this.job, stage);
    const rows = stageCollectives(this.job, stage, this.#placements);
    const compute = this.#computeOf(shape);
    const count = microbatches(this.job);
    const exposed = this.#exposed(rows, stage, compute);
    return {
      microbatch: compute.microbatch + exposed.ofMicrobatches / count,
      update: exposed.ofStep + this.#optimizer(stage),
      links: linkSeconds(this.job.hardware, sentBytes(rows)),
      flops: 3 * count * compute.flops,
    };
  }

  /**
   * Seconds that a stage waits for collectives: what is left beside the computation that may hide them. Each second of computation
   * hides one second of communication, once. Seconds of all micro-batches, and of what comes once a step.
   */
  #exposed(rows: readonly Collective[], stage: number, compute: StageCompute) {
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
    for (const behind of HIDDEN_BEHIND) {
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
    const { optimizer, hardware } = this.job;
    const { paramBytes, gradBytes, gradCopyBytes, stateBytes } = optimizer;
    const bytes = updatedParameters(this.job, stage) * (paramBytes + 2 * (gradBytes + gradCopyBytes + stateBytes));
    return bytes / (hardware.gpu.memoryBytesPerSecond * this.calibration.memory);
  }

  #computeOf(shape: StageShape): StageCompute {
    const again = recomputedShare(this.job, shape);
    const sum = (times: ReadonlyMap<Block, BlockTime>, part: (time: BlockTime) => number) =>
      [...times].reduce((total, [block, time]) => total + shape.blocks[block] * part(time), 0);
    const pass = (times: number, part: (time: BlockTime) => number) => times * sum(this.#blocks, part);
    const losses = shape.loss ? 1 + shape.mtp : 0;
    const loss = losses * secondsOf(this.#loss);
    // no weight gradients of a model that stays as it is
    const weightGradients = this.job.lora ? pass(1, ({ multiplied }) => multiplied) : 0;
    const forward = pass(1, secondsOf) + loss;
    const backward = pass(2 + again, secondsOf) + 2 * loss + sum(this.#again, secondsOf) - weightGradients;
    const idle = pass(3 + again, ({ idle }) => idle);
    return {
      flops: pass(1, ({ flops }) => flops) + losses * this.#loss.flops,
      forward,
      backward,
      microbatch: forward + backward,
      attention: pass(3 + again, ({ attended }) => attended) + idle,
      products: pass(3 + again, ({ multiplied }) => multiplied) + idle,
      idle,
    };
  }

  #blockTime({ products, attentionFlops, movedBytes, starts }: Work, slower = 1): BlockTime {
    const { hardware, compute, sequence } = this.job;
    const { gpu } = hardware;
    const { attention, unfused, memory, blockSeconds } = this.calibration;
    const multiplied = products.reduce(
      (total, { flops, bytes }) =>
        total + flops / gpu.products[compute] + (OPERANDS * bytes) / gpu.memoryBytesPerSecond,
      0,
    );
    const busy = {
      flops: products.reduce((total, { flops }) => total + flops, attentionFlops),
      multiplied: slower * multiplied,
      attended: attentionFlops / (sequence.scoresTimed ? gpu.products.bf16 * unfused : gpu.attention * attention),
      moved: (slower * movedBytes) / (gpu.memoryBytesPerSecond * memory),
    };
    // kernels queue behind one another: a short block costs what starting its kernels costs
    return { ...busy, idle: Math.max(0, starts * blockSeconds - secondsOf({ ...busy, idle: 0 })) };
  }
}

/** How often the latency of two ranks a collective takes: half of it again for every doubling of its ranks. */
export const startsOf = (ranks: number): number => (1 + Math.log2(ranks)) / 2;

/** Whether a collective runs once a step, beside the micro-batches. */
const isOfStep = ({ carries, timesPerStep }: Collective): boolean =>
  timesPerStep === 1 && (carries === 'gradients' || carries === 'parameters');

/** Whether a collective is started among the kernels of a block. */
const isInsideBlocks = ({ group, carries }: Collective): boolean =>
  carries === 'tokens' || carries === 'keys and values' || (carries === 'activations' && group !== 'pp');

/** One forward pass of one block, in seconds. */
interface BlockTime {
  /** Operations. */
  readonly flops: number;
  /** Matrix products, attention between queries and keys, and what moves bytes. */
  readonly multiplied: number;
  readonly attended: number;
  readonly moved: number;
  /** Waiting for the start of the next kernel. */
  readonly idle: number;
}

const secondsOf = ({ multiplied, attended, moved, idle }: Omit<BlockTime, 'flops'>): number =>
  multiplied + attended + moved + idle;

/** Seconds that a stage computes for one micro-batch. */
interface StageCompute {
  /** Operations of its forward pass. */
  readonly flops: number;
  readonly forward: number;
  readonly backward: number;
  readonly microbatch: number;
  /** Of these, those of attention between queries and keys, and of matrix products, of all passes. */
  readonly attention: number;
  readonly products: number;
  /** Seconds of all passes in which the GPU waits for the start of the next kernel. */
  readonly idle: number;
}
