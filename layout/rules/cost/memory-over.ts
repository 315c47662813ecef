import { costJobs } from '../../cost/fromLayout';
import type { CostJob } from '../../cost/job';
import { type KeyChange, keyChanges, keyEdits, recomputeChanges } from '../../cost/keyChanges';
import { fullestOf, memoryOf, type StageMemory } from '../../cost/memory';
import type { Fix } from '../../diagnostic';
import { gibibytes } from '../../format/quantities';
import type { LayoutFacts } from '../../topology/facts';
import { suggestion } from '../fixes';
import { job, type Report, type Rule } from '../rule';

export const memoryOver: Rule = {
  code: 'memory-over',
  severity: 'warning',
  title: 'A pipeline stage needs more memory than its GPUs have',
  effect: 'the job runs out of memory in its first steps, as far as the estimate is right',
  what: 'The estimated need of a pipeline stage, its peak and its communicators, lies above the memory of the GPU that `cluster.gpu` or `cluster.gpu_memory` names. The message gives the estimate and the range in which nine of ten measured peaks lie.',
  why: 'Out of memory shows up after the queue, on the fullest stage alone.',
  failing: job(
    8,
    'tp: 2',
    'cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}',
    'model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256}',
    'sequence: {seq_length: 4096, sequence_parallel: true}',
    'batch: {micro_batch_size: 4, global_batch_size: 64}',
  ),
  sources: ['docs/cost.md: formulas, constants, and how wrong they are'],
  *check(facts) {
    const cluster = facts.root.cluster.value;
    if (!cluster?.gpu.written && !cluster?.gpu_memory.written) {
      return;
    }
    for (const [index, made] of costJobs(facts).entries()) {
      const module = facts.modules[index];
      const memory = made.ok ? made.job.hardware.gpu.memoryBytes : 0;
      const fullest = made.ok && memory > 0 ? fullestStage(made.job) : null;
      if (made.ok && module && fullest && fullest.totalBytes > memory) {
        const span = module.fields.tp.written ? module.fields.tp.span : module.nameSpan;
        yield reportOf(facts, made.job, { span, memory, fullest });
      }
    }
  },
};

/** A stage by its place, with its memory. */
type Fullest = StageMemory & { readonly stage: number };

const fullestStage = (job: CostJob): Fullest | null => fullestOf(memoryOf(job));

function reportOf(
  facts: LayoutFacts,
  job: CostJob,
  { span, memory, fullest }: { span: Report['span']; memory: number; fullest: Fullest },
): Report {
  const where = job.stages.length > 1 ? `Pipeline stage ${fullest.stage}` : 'Each GPU';
  const [low, high] = fullest.totalInterval.map(gibibytes);
  const cluster = facts.root.cluster.value;
  const gpu = cluster?.gpu_memory.written ? cluster.gpu_memory : cluster?.gpu;
  return {
    message: `${where} needs about ${gibibytes(fullest.totalBytes)} GiB (${low} to ${high}) and has ${gibibytes(memory)}: ${gibibytes(fullest.statesBytes + fullest.workspaceBytes)} of states, ${gibibytes(fullest.activationsBytes)} of activations, ${gibibytes(fullest.communicatorsBytes)} of communicators. Use more tp or pp, a smaller micro-batch, the distributed optimizer or recomputation.`,
    span,
    related: gpu?.written ? [{ message: `a GPU has ${gibibytes(memory)} GiB`, span: gpu.span }] : [],
    fixes: waysOut(facts, job, memory),
  };
}

/** Single changes after which the fullest stage fits, the cheapest in time first. */
function waysOut(facts: LayoutFacts, job: CostJob, memory: number): (Fix | null)[] {
  const fits = (change: Partial<CostJob>) => (fullestStage({ ...job, ...change })?.totalBytes ?? 0) <= memory;
  const optimizer = { ...job.optimizer, distributed: true };
  const shard = !job.optimizer.distributed && fits({ optimizer });
  const full = job.recompute.granularity !== 'full' && fits({ recompute: { granularity: 'full', layers: null } });
  const write = (title: string, changes: readonly KeyChange[]) => suggestion(title, keyEdits(facts, changes) ?? [null]);
  return [
    shard ? write('Use the distributed optimizer', keyChanges('optimizer', { use_distributed_optimizer: true })) : null,
    full && !facts.root.recompute.written ? write('Recompute all layers', recomputeChanges('full')) : null,
  ];
}
