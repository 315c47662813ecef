import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { optimizerOverlap } from './optimizer-overlap';

/** A job with some switches of the optimizer on. */
const optimizer = (switches: string, degrees = 'tp: 2') =>
  job(8, degrees, `optimizer: {${switches.replaceAll(',', ': true,')}: true}`);

test('optimizer-overlap', () => {
  const said = reports(optimizerOverlap, {
    'with all that it needs': optimizer('use_distributed_optimizer, overlap_grad_reduce, overlap_param_gather'),
    'with Megatron-FSDP': `${optimizer('overlap_grad_reduce, overlap_param_gather')}fsdp: {enabled: true}\n`,
    'without a distributed optimizer': optimizer('overlap_param_gather'),
    'without the reduction': optimizer('use_distributed_optimizer, overlap_param_gather'),
    'with the step and the default format of checkpoints': scriptJob(8, 'pp: 2, vpp: 2', {
      optimizer:
        'use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: true, overlap_param_gather_with_optimizer_step: true',
      batch: 'micro_batch_size: 1, global_batch_size: 32',
    }),
    'with the step and no interleaving': optimizer(
      'use_distributed_optimizer, overlap_grad_reduce, overlap_param_gather, overlap_param_gather_with_optimizer_step',
      'pp: 2',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "without a distributed optimizer: warning at "true": overlap_param_gather needs use_distributed_optimizer. Write use_distributed_optimizer true.
      = Megatron-LM: --overlap-param-gather only supported with distributed optimizer, megatron fsdp, or dist_muon
      = suggestion: Switch on use_distributed_optimizer and overlap_grad_reduce: optimizer: {overlap_param_gather: true{+, use_distributed_optimizer: true, overlap_grad_reduce: true+}}
      = suggestion: Remove overlap_param_gather: optimizer: {[-overlap_param_gather: true-]}
    without the reduction: error at "true": overlap_param_gather needs overlap_grad_reduce. Write overlap_grad_reduce true.
      = Megatron-LM: Must use --overlap-param-gather with --overlap-grad-reduce
      = suggestion: Switch on overlap_grad_reduce: optimizer: {use_distributed_optimizer: true, overlap_param_gather: true{+, overlap_grad_reduce: true+}}
      = suggestion: Remove overlap_param_gather: optimizer: {use_distributed_optimizer: true[-, overlap_param_gather: true-]}
    with the step and the default format of checkpoints: information at "true": overlap_param_gather_with_optimizer_step excludes distributed checkpoints, ckpt_format Megatron-LM's default torch_dist. Use ckpt_format torch.
      = Megatron-LM: --overlap-param-gather-with-optimizer-step not supported with distributed checkpointing yet
      = suggestion: Remove overlap_param_gather_with_optimizer_step: optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: true[-, overlap_param_gather_with_optimizer_step: true-]}
    with the step and no interleaving: error at "true": overlap_param_gather_with_optimizer_step needs an interleaved pipeline. Write vpp.
      = Megatron-LM: --overlap-param-gather-with-optimizer-step only supported with interleaved pipeline parallelism
      = suggestion: Remove overlap_param_gather_with_optimizer_step: optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: true[-, overlap_param_gather_with_optimizer_step: true-]}"
  `);
});
