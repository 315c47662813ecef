import { gpuKind, isTpu, nearestGpus } from '../../cost/gpus';
import { changes } from '../fixes';
import { job, type Rule } from '../rule';

export const unknownGpu: Rule = {
  code: 'unknown-gpu',
  severity: 'warning',
  title: 'The kind of GPU is not known',
  effect: 'its memory and speed are not known, and nothing can be said to fit',
  what: '`cluster.gpu` names no GPU of the table that estimates use. `parallelism-layout explain gpu` lists the table with its sources. A memory size in the name counts: `A100-40GB`.',
  why: 'Estimates, plans and `memory-over` take memory and speed from the table. A name that it lacks would switch them off without a word.',
  failing: job(8, 'tp: 2', 'cluster: {nodes: 1, gpus_per_node: 8, gpu: H1000}'),
  sources: ['layout/cost/gpus.ts: the table of GPUs, from the data sheets of their vendors'],
  *check(facts) {
    const gpu = facts.root.cluster.value?.gpu;
    if (gpu?.value === undefined || gpuKind(gpu.value)) {
      return;
    }
    if (isTpu(gpu.value)) {
      yield { message: 'A TPU runs no jobs of these frameworks. Name a GPU, or leave gpu out.', span: gpu.span };
      return;
    }
    const [first = '', second = '', third = ''] = nearestGpus(gpu.value);
    yield {
      message: `The GPU is not known, so time is not estimated and memory only by gpu_memory. The nearest names are ${first}, ${second} and ${third}.`,
      ...changes('gpu', gpu, first),
    };
  },
};
