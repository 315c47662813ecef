import type { Field } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { virtualSize } from '../../topology/stages';
import { batchReplicas, globalBatchOf } from '../batch/replicas';
import { changeFix, setFix } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { writtenRelated } from '../related';
import { job, megatron, type Rule, stopsLater } from '../rule';

export const virtualPipelineWindow: Rule = {
  code: 'virtual-pipeline-window',
  severity: 'error',
  title: 'Too few micro-batches for the interleaved schedule',
  effect: 'Megatron-LM stops in the first step',
  what: 'A virtual stage runs micro-batches in groups of `microbatch_group_size_per_vp_stage`, which defaults to `pp`. The group is smaller than `pp`, larger than the micro-batches of a step, or leaves a last group smaller than `pp`.',
  why: 'With a group smaller than the pipeline, the first stage waits for outputs of the last stage that depend on its own next micro-batch.',
  failing: job(8, 'pp: 4, vpp: 2', 'batch: {micro_batch_size: 1, global_batch_size: 4}'),
  sources: [megatron('megatron/core/pipeline_parallel/schedules.py', 'forward_backward_pipelining_with_interleaving')],
  *check(facts) {
    const schedule = scheduleOf(facts);
    if (!schedule) {
      return;
    }
    const { pp, vpp, count, size, step, group, global } = schedule;
    const rest = count % size;
    if (size >= pp && size <= count && (rest === 0 || rest >= pp)) {
      return;
    }
    // a larger batch does not help where the group itself is too small
    const batches = size < pp ? [] : nearestMultiples(step * size, global.value ?? count * step);
    const advice = [
      ...(group.written && (size < pp || pp <= count) ? [`microbatch_group_size_per_vp_stage ${pp}`] : []),
      ...(batches.length > 0 ? [`global_batch_size ${eitherNumber(batches)}`] : []),
    ];
    yield {
      // a file that leaves the batch out may well be launched with one; no batch helps a group smaller than the pipeline
      severity: global.written || size < pp ? 'error' : 'warning',
      message: `${problemOf(schedule)} Use ${advice.join(', or ')}.${stopsLater(facts, 'runs the first step')}`,
      span: group.written ? group.span : global.span,
      related: writtenRelated('vpp', vpp),
      predicts: prediction(schedule),
      fixes: [
        changeFix('microbatch_group_size_per_vp_stage', group, pp),
        ...batches.map((size) => setFix(facts.text, facts.root.batch.span, 'global_batch_size', global, size)),
      ],
    };
  },
};

/** The micro-batches of one step and how an interleaved pipeline groups them. */
interface Schedule {
  readonly pp: number;
  readonly vpp: Field<number>;
  /** Micro-batches that one replica runs in a step. */
  readonly count: number;
  /** Micro-batches in a group. */
  readonly size: number;
  /** Sequences in which every replica runs one micro-batch. */
  readonly step: number;
  readonly group: Field<number>;
  readonly global: Field<number>;
}

function scheduleOf(facts: LayoutFacts): Schedule | null {
  const replicas = batchReplicas(facts);
  const fields = facts.root.parallelism.value;
  const global = facts.root.batch.value?.global_batch_size;
  const pp = replicas?.module.degrees?.pp ?? 1;
  if (!replicas || !fields || !global || virtualSize(facts, replicas.module) === null || pp === 1) {
    return null;
  }
  const { step } = replicas;
  const batches = (globalBatchOf(facts, replicas) ?? Number.NaN) / step;
  const count = facts.root.batch.value?.decrease_batch_size_if_needed.value ? Math.floor(batches) : batches;
  const group = fields.microbatch_group_size_per_vp_stage;
  const size = group.written ? group.value : pp;
  return size === undefined || !Number.isInteger(count)
    ? null
    : { pp, vpp: fields.vpp, count, size, step, group, global };
}

function problemOf({ pp, count, size, group }: Schedule): string {
  if (size < pp) {
    return `Groups of ${microBatches(size)} are smaller than pp ${pp}.`;
  }
  if (size > count) {
    return group.written
      ? `A group is ${microBatches(size)}, but this batch gives ${count} a step.`
      : `vpp with pp ${pp} needs at least ${microBatches(pp)} a step; this batch gives ${count}.`;
  }
  return `${microBatches(count)} in groups of ${size} leave a last group of ${count % size}, smaller than pp ${pp}.`;
}

function microBatches(count: number): string {
  return `${count} micro-batch${count === 1 ? '' : 'es'}`;
}

function prediction({ pp, count, size }: Schedule): string {
  return size < pp || size > count
    ? `The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=${pp} , M=${count}]`
    : `The remainder of M (the total micro-batches) divided by N (number of contiguous micro-batches in a virtual pipeline stage) should be 0, or larger than or equal to the pipeline-parallel size, but it is ${count % size}. Otherwise, it introduces dependency bubbles in the pipeline and reduces throughput.`;
}
