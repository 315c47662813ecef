import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { narrowTypes } from './narrow-types';

test('narrow-types', () => {
  const distributed = 'use_distributed_optimizer: true';
  const said = reports(narrowTypes, {
    'gathered in 8 bits': scriptJob(8, 'tp: 1', {
      precision: 'fp8_format: hybrid, fp8_param_gather: true',
      optimizer: distributed,
    }),
    'a file that says less': job(8, 'tp: 1', 'precision: {fp8_format: hybrid, fp8_param_gather: true}'),
    'FSDP2, which switches it off': job(8, 'tp: 1', 'precision: {fp8_param_gather: true}', 'fsdp: {torch_fsdp2: true}'),
    'no sharded optimizer': scriptJob(8, 'tp: 1', {
      precision: 'fp8_format: hybrid, fp8_param_gather: true',
      optimizer: 'overlap_grad_reduce: true',
    }),
    'no 8-bit products': scriptJob(8, 'tp: 1', { precision: 'fp8_param_gather: true', optimizer: distributed }),
    'no 4-bit products': job(8, 'tp: 1', 'precision: {fp4_param_gather: true}'),
    'both formats': job(8, 'tp: 1', 'precision: {fp8_format: e4m3, fp4_format: e2m1}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "no sharded optimizer: error at "true": fp8_param_gather needs use_distributed_optimizer or FSDP: only sharded parameters are gathered.
      = Megatron-LM: --fp8-param-gather only supported with distributed optimizer, torch fsdp2, megatron fsdp, or inference mode
      = suggestion: Insert use_distributed_optimizer: true: optimizer: {overlap_grad_reduce: true{+, use_distributed_optimizer: true+}}
      = suggestion: Remove fp8_param_gather: precision: {fp8_format: hybrid[-, fp8_param_gather: true-]}
    no 8-bit products: error at "true": fp8_param_gather needs fp8_format. Write fp8_format e4m3 or hybrid.
      = Megatron-LM: fp8_param must be used together with fp8 mode.
      = suggestion: Insert fp8_format: hybrid: precision: {fp8_param_gather: true{+, fp8_format: hybrid+}}
      = suggestion: Remove fp8_param_gather: precision: {[-fp8_param_gather: true-]}
    no 4-bit products: error at "true": fp4_param_gather needs fp4_format. Write fp4_format e2m1.
      = Megatron-LM: --fp4-param-gather must be used together with --fp4-format.
      = suggestion: Insert fp4_format: e2m1: precision: {fp4_param_gather: true{+, fp4_format: e2m1+}}
      = suggestion: Remove fp4_param_gather: precision: {[-fp4_param_gather: true-]}
    both formats: error at "e2m1": fp4_format and fp8_format exclude one another. Remove one of them.
      = Megatron-LM: --fp4-format and --fp8-format cannot be used simultaneously. Please choose one.
      = suggestion: Remove fp8_format: precision: {[-fp8_format: e4m3, -]fp4_format: e2m1}
      = suggestion: Remove fp4_format: precision: {fp8_format: e4m3[-, fp4_format: e2m1-]}"
  `);
});
