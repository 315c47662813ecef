import { setKey } from '../../format/edit';
import { virtualSize } from '../../topology/stages';
import { takenOf, takenText } from '../../topology/taken';
import { byDefault, conditionsOn, firstBroken } from '../conditions';
import { changeFix, suggestion } from '../fixes';
import { both } from '../numbers';
import { job, type Rule, VALIDATE_ARGS } from '../rule';

/** A switch that another one needs. */
type Switch = 'use_distributed_optimizer' | 'overlap_grad_reduce' | 'overlap_param_gather';

export const optimizerOverlap: Rule = {
  code: 'optimizer-overlap',
  severity: 'error',
  title: 'Optimizer overlap without the options that it needs',
  what: '`overlap_param_gather` is on without a distributed optimizer or without `overlap_grad_reduce`; or `overlap_param_gather_with_optimizer_step` without `overlap_param_gather` without an interleaved pipeline, or with distributed checkpoints (the default of Megatron-LM); or `defer_embedding_wgrad_compute` without a pipeline or without `gradient_accumulation_fusion`.',
  why: 'Parameters are gathered only where the optimizer shards them.',
  failing: job(8, 'tp: 1', 'optimizer: {use_distributed_optimizer: false, overlap_param_gather: true}'),
  sources: [VALIDATE_ARGS],
  *check(facts) {
    const { root, modules, text } = facts;
    const optimizer = root.optimizer.value;
    const [module] = modules;
    if (!optimizer || !module) {
      return;
    }
    const isDistributed = optimizer.use_distributed_optimizer.value === true || root.fsdp.value?.enabled.value === true;
    const {
      overlap_param_gather: gather,
      overlap_param_gather_with_optimizer_step: step,
      defer_embedding_wgrad_compute: deferred,
    } = optimizer;
    const on = (...names: readonly Switch[]) => {
      const off = names.filter((name) => optimizer[name].value !== true);
      const edits = off.map((name) => setKey(text, root.optimizer.span, name, optimizer[name], 'true'));
      return suggestion(`Switch on ${both(off)}`, edits);
    };
    const gathered: readonly Switch[] = [
      ...(isDistributed ? [] : (['use_distributed_optimizer'] as const)),
      'overlap_grad_reduce',
    ];
    const onGather = conditionsOn('overlap_param_gather', gather, on(...gathered));
    const onStep = conditionsOn('overlap_param_gather_with_optimizer_step', step);
    const onDeferred = conditionsOn('defer_embedding_wgrad_compute', deferred);
    const format = takenOf(facts, 'checkpoint', 'ckpt_format');
    const reports = firstBroken(text, [
      onGather(
        !gather.value || isDistributed || optimizer.optimizer.value === 'dist_muon',
        'overlap_param_gather needs use_distributed_optimizer. Write use_distributed_optimizer true.',
        '--overlap-param-gather only supported with distributed optimizer, megatron fsdp, or dist_muon',
      ),
      onGather(
        !gather.value || optimizer.overlap_grad_reduce.value === true,
        'overlap_param_gather needs overlap_grad_reduce. Write overlap_grad_reduce true.',
        'Must use --overlap-param-gather with --overlap-grad-reduce',
      ),
      onStep(
        !step.value || optimizer.use_distributed_optimizer.value === true,
        'overlap_param_gather_with_optimizer_step needs use_distributed_optimizer. Write use_distributed_optimizer true.',
        '--overlap-param-gather-with-optimizer-step only supported with distributed optimizer',
        on(...gathered, 'overlap_param_gather'),
      ),
      onStep(
        !step.value || gather.value === true,
        'overlap_param_gather_with_optimizer_step needs overlap_param_gather. Write overlap_param_gather true.',
        'Must use --overlap-param-gather-with-optimizer-step with --overlap-param-gather',
        on(...gathered, 'overlap_param_gather'),
      ),
      onStep(
        !step.value || virtualSize(facts, module) !== null,
        'overlap_param_gather_with_optimizer_step needs an interleaved pipeline. Write vpp.',
        '--overlap-param-gather-with-optimizer-step only supported with interleaved pipeline parallelism',
      ),
      onStep(
        byDefault(format, !step.value || format.value === undefined || format.value === 'torch'),
        `overlap_param_gather_with_optimizer_step excludes distributed checkpoints, ckpt_format ${takenText(format)}. Use ckpt_format torch.`,
        '--overlap-param-gather-with-optimizer-step not supported with distributed checkpointing yet',
        changeFix('ckpt_format', root.checkpoint.value?.ckpt_format, 'torch'),
      ),
    ]);
    yield* firstBroken(text, [
      onDeferred(
        !deferred.value || module.degrees === undefined || module.degrees.pp > 1,
        'defer_embedding_wgrad_compute needs a pipeline, and pp is 1. Remove it.',
        'Cannot defer embedding wgrad compute when pipeline model parallel is not used',
      ),
      onDeferred(
        !deferred.value || optimizer.gradient_accumulation_fusion.value !== false,
        'defer_embedding_wgrad_compute needs gradient_accumulation_fusion. Use gradient_accumulation_fusion true.',
        'Cannot defer embedding wgrad compute when gradient accumulation fusion is not used',
        changeFix('gradient_accumulation_fusion', optimizer.gradient_accumulation_fusion, 'true'),
      ),
    ]);
    // of a file that says less than its training script the optimizer may well be set elsewhere
    const severity = facts.trainingScript || optimizer.use_distributed_optimizer.written ? 'error' : 'warning';
    yield* reports.map((report) => ({ severity, ...report }) as const);
  },
};
