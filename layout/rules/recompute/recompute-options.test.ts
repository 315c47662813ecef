import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { recomputeOptions } from './recompute-options';

test('recompute-options', () => {
  const said = reports(recomputeOptions, {
    'whole layers': job(8, 'tp: 2', 'recompute: {granularity: full, method: block, num_layers: 4}'),
    modules: job(8, 'tp: 2', 'recompute: {granularity: selective, modules: [core_attn]}'),
    'a file that leaves the method open': job(8, 'tp: 2', 'recompute: {granularity: full}'),
    'selective with a method': job(8, 'tp: 2', 'recompute: {granularity: selective, method: uniform}'),
    'selective with a number of layers': job(8, 'tp: 2', 'recompute: {granularity: selective, num_layers: 4}'),
    'whole layers of the training script without a method': scriptJob(8, 'tp: 1', { recompute: 'granularity: full' }),
    'whole layers of the training script without their number': scriptJob(8, 'pp: 2', {
      recompute: 'granularity: full, method: uniform',
    }),
    'activations spread over one rank': job(8, 'cp: 2', 'recompute: {distribute_saved_activations: true}'),
    'activations spread twice': job(
      8,
      'tp: 2',
      'sequence: {sequence_parallel: true}',
      'recompute: {granularity: full, method: uniform, num_layers: 1, distribute_saved_activations: true}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "selective with a method: error at "uniform": Selective recomputation has no method. Remove method, or use granularity full.
      = Megatron-LM: recompute method is not yet supported for selective recomputing granularity
      = suggestion: Remove method: recompute: {granularity: selective[-, method: uniform-]}
    selective with a number of layers: error at "4": Selective recomputation has no number of layers. Remove num_layers, or use granularity full.
      = Megatron-LM: When using recompute_granularity: selective recompute_num_layers must be None.
      = suggestion: Remove num_layers: recompute: {granularity: selective[-, num_layers: 4-]}
    whole layers of the training script without a method: error at "full": Full recomputation needs a method. Write method uniform or block.
      = Megatron-LM: Using recompute_granularity: full so recompute_method must be "block" or "uniform"
      = suggestion: Insert method: uniform, num_layers: 1: recompute: {granularity: full{+, method: uniform, num_layers: 1+}}
      = suggestion: Remove granularity: recompute: {[-granularity: full-]}
    whole layers of the training script without their number: error at "full": Full recomputation needs a number of layers. Write num_layers 1 under recompute.
      = Megatron-LM: When using recompute_granularity: full recompute_num_layers must be between 1 and num_layers_per_pipeline_rank: 4
      = suggestion: Insert num_layers: 1: recompute: {granularity: full, method: uniform{+, num_layers: 1+}}
      = suggestion: Remove granularity: recompute: {[-granularity: full, -]method: uniform}
    activations spread over one rank: error at "true": distribute_saved_activations needs tensor parallelism; tp is 1. Remove it.
      = Megatron-LM: can distribute recomputed activations only across tensor model parallel groups
      = suggestion: Remove distribute_saved_activations: recompute: {[-distribute_saved_activations: true-]}
    activations spread twice: error at "true": distribute_saved_activations excludes sequence_parallel, which spreads the activations already. Remove it.
      = Megatron-LM: distribute_saved_activations: True must be false when sequence parallel is enabled: True
      = suggestion: Remove distribute_saved_activations: recompute: {granularity: full, method: uniform, num_layers: 1[-, distribute_saved_activations: true-]}"
  `);
});
