import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { optimizerOffload } from './optimizer-offload';

test('optimizer-offload', () => {
  const offload = 'optimizer_cpu_offload: true';
  const said = reports(optimizerOffload, {
    both: scriptJob(8, 'tp: 1', { optimizer: `${offload}, use_precision_aware_optimizer: true` }),
    'a file that says less': job(8, 'tp: 1', `optimizer: {${offload}}`),
    'another framework': scriptJob(8, 'tp: 1', { optimizer: offload, launch: 'family: verl' }),
    'the default': scriptJob(8, 'tp: 1', { optimizer: offload }),
    'switched off': job(8, 'tp: 1', `optimizer: {${offload}, use_precision_aware_optimizer: false}`),
    'parameters in 8 bits': scriptJob(8, 'tp: 1', {
      optimizer: `${offload}, use_precision_aware_optimizer: true, use_distributed_optimizer: true`,
      precision: 'fp8_format: e4m3, fp8_param_gather: true, fp8_recipe: mxfp8',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "the default: information at "true": optimizer_cpu_offload needs use_precision_aware_optimizer, which Megatron-LM leaves off by default. Write use_precision_aware_optimizer true.
      = Megatron-LM: The optimizer cpu offload must be used in conjunction with \`--use-precision-aware-optimizer\`, as the hybrid device optimizer reuses the code path of this flag.
      = suggestion: Insert use_precision_aware_optimizer: true: optimizer: {optimizer_cpu_offload: true{+, use_precision_aware_optimizer: true+}}
      = suggestion: Remove optimizer_cpu_offload: optimizer: {[-optimizer_cpu_offload: true-]}
    switched off: error at "true": optimizer_cpu_offload needs use_precision_aware_optimizer. Write use_precision_aware_optimizer true.
      = Megatron-LM: The optimizer cpu offload must be used in conjunction with \`--use-precision-aware-optimizer\`, as the hybrid device optimizer reuses the code path of this flag.
      = suggestion: Change use_precision_aware_optimizer to true: optimizer: {optimizer_cpu_offload: true, use_precision_aware_optimizer: [-false-]{+true+}}
      = suggestion: Remove optimizer_cpu_offload: optimizer: {[-optimizer_cpu_offload: true, -]use_precision_aware_optimizer: false}
    parameters in 8 bits: error at "true": optimizer_cpu_offload beside fp8_param_gather needs fp8_recipe delayed, not mxfp8.
      = Megatron-LM: When \`--fp8-param-gather\` is enabled, the optimizer cpu offload must be used in conjunction with \`--fp8-recipe delayed\`.
      = suggestion: Remove optimizer_cpu_offload: optimizer: {[-optimizer_cpu_offload: true, -]use_precision_aware_optimizer: true, use_distributed_optimizer: true}"
  `);
});
