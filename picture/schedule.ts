/** The shape of a pipeline schedule. */
export interface PipelineShape {
  readonly stages: number;
  /** Model chunks of a stage (virtual stages); 1 without interleaving. */
  readonly chunks: number;
  /** Micro-batches of one replica in a step. */
  readonly microbatches: number;
  /** Micro-batches that a chunk runs in a row (`microbatch_group_size_per_vp_stage`); of no effect without interleaving. */
  readonly group: number;
}

/** A forward or backward pass of one chunk for one micro-batch; times in forward passes of a chunk. */
export interface Pass {
  readonly stage: number;
  readonly chunk: number;
  readonly microbatch: number;
  readonly isBackward: boolean;
  readonly start: number;
  readonly end: number;
}

/** A backward pass computes twice what a forward pass does. */
const BACKWARD = 2;

/**
 * When every stage computes what, where all chunks take equally long and sending takes no time: 1F1B, or interleaved 1F1B.
 * Source: `get_pp_rank_microbatches` and `get_schedule_table`, megatron/core/pipeline_parallel/schedules.py.
 */
export function scheduleOf(shape: PipelineShape): Pass[] {
  const orders = Array.from({ length: shape.stages }, (_, stage) => orderOf(shape, stage));
  const ends = new Map<number, number>();
  const free = orders.map(() => 0);
  const next = orders.map(() => 0);
  const passes: Pass[] = [];
  const keyOf = (step: Step, stage: number) =>
    ((step.microbatch * shape.chunks + step.chunk) * shape.stages + stage) * 2 + Number(step.isBackward);
  let moved = true;
  while (moved) {
    moved = false;
    for (const [stage, order] of orders.entries()) {
      for (let step = order[next[stage] ?? 0]; step; step = order[next[stage] ?? 0]) {
        const before = neededBy(step, stage, shape);
        const ready = before === null ? 0 : ends.get(keyOf(before.step, before.stage));
        if (ready === undefined) {
          break;
        }
        const start = Math.max(ready, free[stage] ?? 0);
        const end = start + (step.isBackward ? BACKWARD : 1);
        passes.push({ ...step, stage, start, end });
        ends.set(keyOf(step, stage), end);
        free[stage] = end;
        next[stage] = (next[stage] ?? 0) + 1;
        moved = true;
      }
    }
  }
  return passes;
}

type Step = Pick<Pass, 'chunk' | 'microbatch' | 'isBackward'>;

/** What must have ended before a pass can begin; null for the first stage's first chunk. */
function neededBy(step: Step, stage: number, { stages, chunks }: PipelineShape): { step: Step; stage: number } | null {
  const last = stages - 1;
  if (!step.isBackward) {
    if (stage > 0) {
      return { step, stage: stage - 1 };
    }
    return step.chunk > 0 ? { step: { ...step, chunk: step.chunk - 1 }, stage: last } : null;
  }
  if (stage < last) {
    return { step, stage: stage + 1 };
  }
  return step.chunk < chunks - 1
    ? { step: { ...step, chunk: step.chunk + 1 }, stage: 0 }
    : { step: { ...step, isBackward: false }, stage };
}

/** What a stage computes, one after another: forward passes to warm up, then one forward and one backward pass in turn. */
function orderOf(shape: PipelineShape, stage: number): Step[] {
  const { stages, chunks, group } = shape;
  const forward = tableOf(shape);
  const total = forward.length;
  const backward = forward.map((step) => ({ ...step, chunk: chunks - 1 - step.chunk, isBackward: true }));
  const after = stages - 1 - stage;
  const warmup = Math.min(total, chunks === 1 ? after : after * 2 + (chunks - 1) * group);
  const steady = forward.slice(warmup).flatMap((step, i) => [step, ...backward.slice(i, i + 1)]);
  return [...forward.slice(0, warmup), ...steady, ...backward.slice(total - warmup)];
}

/** The forward passes of a stage in order: groups of micro-batches, each through all chunks. */
function tableOf({ chunks, microbatches, group }: PipelineShape): Step[] {
  const together = Math.max(1, chunks === 1 ? 1 : group);
  const steps: Step[] = [];
  for (let first = 0; first < microbatches; first += together) {
    for (let chunk = 0; chunk < chunks; chunk++) {
      for (let microbatch = first; microbatch < Math.min(first + together, microbatches); microbatch++) {
        steps.push({ chunk, microbatch, isBackward: false });
      }
    }
  }
  return steps;
}
