import { batchReplicas } from '../batch/replicas';
import { changes } from '../fixes';
import { writtenRelated } from '../related';
import { inFramework, type Rule } from '../rule';

export const nanotronAccumulation: Rule = {
  code: 'nanotron-accumulation',
  severity: 'error',
  title: "Too few micro-batches for nanotron's 1F1B schedule",
  effect: 'nanotron stops in the first step',
  what: 'A nanotron job with `pipeline_schedule: 1f1b` runs fewer than `pp - 1` micro-batches a step. Their number is `global_batch_size / (micro_batch_size * dp)`, which nanotron calls `batch_accumulation_per_replica`.',
  why: "The first stage starts `pp - 1` micro-batches before it runs the first backward pass. The schedule `afab`, nanotron's default, has no such limit.",
  failing:
    'layout: 1\nworld_size: 8\nlaunch: {family: nanotron}\nparallelism: {pp: 8, pipeline_schedule: 1f1b}\nbatch: {micro_batch_size: 2, global_batch_size: 2}\n',
  sources: [
    inFramework(
      'huggingface/nanotron',
      'src/nanotron/parallel/pipeline_parallel/engine.py',
      'OneForwardOneBackwardPipelineEngine.train_batch_iter',
    ),
  ],
  *check(facts) {
    const parallelism = facts.root.parallelism.value;
    const replicas = batchReplicas(facts);
    const global = facts.root.batch.value?.global_batch_size;
    const pp = replicas?.module.degrees?.pp ?? 1;
    const isOneForward = parallelism?.pipeline_schedule.value?.toLowerCase() === '1f1b';
    if (!replicas || !global?.value || !parallelism || !isOneForward || pp === 1) {
      return;
    }
    const count = global.value / replicas.step;
    if (Number.isInteger(count) && count < pp - 1) {
      const size = (pp - 1) * replicas.step;
      yield {
        message: `${count} micro-batch${count === 1 ? '' : 'es'} a step (batch_accumulation_per_replica): 1F1B with pp ${pp} needs at least pp - 1 = ${pp - 1}. Use global_batch_size ${size} or more.`,
        ...changes('global_batch_size', global, size),
        related: writtenRelated('pp', parallelism.pp),
        predicts: `Number of microbatches (${count}) must be at least PP_SIZE-1=${pp - 1} when using the OneForwardOneBackwardPipelineEngine`,
      };
    }
  },
};
