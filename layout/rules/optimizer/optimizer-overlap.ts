import { setKey } from '../../format/edit';
import { virtualSize } from '../../topology/stages';
import { firstBroken } from '../conditions';
import { suggestion } from '../fixes';
import { both } from '../numbers';
import type { Rule } from '../rule';
import { megatron } from '../source';

/** A switch that another one needs. */
type Switch = 'use_distributed_optimizer' | 'overlap_grad_reduce' | 'overlap_param_gather';

export const optimizerOverlap: Rule = {
  code: 'optimizer-overlap',
  severity: 'error',
  title: 'Overlap of the optimizer without what it needs',
  effect: 'Megatron-LM stops on every rank',
  what: '`overlap_param_gather` is on without a distributed optimizer or without `overlap_grad_reduce`; or `overlap_param_gather_with_optimizer_step` without `overlap_param_gather` or without an interleaved pipeline; or `defer_embedding_wgrad_compute` without a pipeline or without `gradient_accumulation_fusion`.',
  why: 'Parameters are gathered only where the optimizer shards them.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 1
optimizer:
  use_distributed_optimizer: false
  overlap_param_gather: true
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 1
optimizer:
  use_distributed_optimizer: true
  overlap_grad_reduce: true
  overlap_param_gather: true
`,
  sources: [megatron('megatron/training/arguments.py', 'validate_args')],
  *check(facts) {
    const { root, modules, text } = facts;
    const optimizer = root.optimizer.value;
    const [module] = modules;
    if (!optimizer || !module) {
      return;
    }
    const fsdp = root.fsdp.value?.enabled.value === true;
    const isDistributed = optimizer.use_distributed_optimizer.value === true || fsdp;
    const gather = { name: 'overlap_param_gather', field: optimizer.overlap_param_gather };
    const step = {
      name: 'overlap_param_gather_with_optimizer_step',
      field: optimizer.overlap_param_gather_with_optimizer_step,
    };
    // of a file that says less than its training script the optimizer may well be set elsewhere
    const isSaid = facts.trainingScript || optimizer.use_distributed_optimizer.written;
    const on = (...names: readonly Switch[]) => {
      const off = names.filter((name) => optimizer[name].value !== true);
      const edits = off.map((name) => setKey(text, root.optimizer.span, name, optimizer[name], 'true'));
      return suggestion(`Switch on ${both(off)}`, edits);
    };
    const distributed: readonly Switch[] = isDistributed ? [] : ['use_distributed_optimizer'];
    const gathered: readonly Switch[] = [...distributed, 'overlap_grad_reduce'];
    const reports = firstBroken(text, [
      {
        ...gather,
        holds: !gather.field.value || isDistributed || optimizer.optimizer.value === 'dist_muon',
        message: 'overlap_param_gather needs use_distributed_optimizer. Write use_distributed_optimizer true.',
        fixes: [on(...gathered)],
        predicts: '--overlap-param-gather only supported with distributed optimizer, megatron fsdp, or dist_muon',
      },
      {
        ...gather,
        holds: !gather.field.value || optimizer.overlap_grad_reduce.value === true,
        message: 'overlap_param_gather needs overlap_grad_reduce. Write overlap_grad_reduce true.',
        fixes: [on(...gathered)],
        predicts: 'Must use --overlap-param-gather with --overlap-grad-reduce',
      },
      {
        ...step,
        holds: !step.field.value || isDistributed,
        message:
          'overlap_param_gather_with_optimizer_step needs use_distributed_optimizer. Write use_distributed_optimizer true.',
        fixes: [on(...gathered, 'overlap_param_gather')],
        predicts: '--overlap-param-gather-with-optimizer-step only supported with distributed optimizer',
      },
      {
        ...step,
        holds: !step.field.value || gather.field.value === true,
        message:
          'overlap_param_gather_with_optimizer_step needs overlap_param_gather. Write overlap_param_gather true.',
        fixes: [on(...gathered, 'overlap_param_gather')],
        predicts: 'Must use --overlap-param-gather-with-optimizer-step with --overlap-param-gather',
      },
      {
        ...step,
        holds: !step.field.value || virtualSize(facts, module) !== null,
        message: 'overlap_param_gather_with_optimizer_step needs an interleaved pipeline. Write vpp.',
        predicts: '--overlap-param-gather-with-optimizer-step only supported with interleaved pipeline parallelism',
      },
    ]);
    const deferred = { name: 'defer_embedding_wgrad_compute', field: optimizer.defer_embedding_wgrad_compute };
    yield* firstBroken(text, [
      {
        ...deferred,
        holds: !deferred.field.value || module.degrees === undefined || module.degrees.pp > 1,
        message: 'defer_embedding_wgrad_compute needs a pipeline, and pp is 1. Leave it out.',
        predicts: 'Cannot defer embedding wgrad compute when pipeline model parallel is not used',
      },
      {
        ...deferred,
        holds: !deferred.field.value || optimizer.gradient_accumulation_fusion.value !== false,
        message: 'defer_embedding_wgrad_compute needs gradient_accumulation_fusion. Leave one of them out.',
        predicts: 'Cannot defer embedding wgrad compute when gradient accumulation fusion is not used',
      },
    ]);
    yield* reports.map((report) => ({ ...report, severity: isSaid ? 'error' : 'warning' }) as const);
  },
};
