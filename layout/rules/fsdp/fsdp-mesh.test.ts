import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { fsdpMesh } from './fsdp-mesh';

test('fsdp-mesh', () => {
  const said = reports(fsdpMesh, {
    'tensor parallelism': job(8, 'tp: 2', 'fsdp: {enabled: true}'),
    'hybrid sharding': job(8, 'tp: 2, num_distributed_optimizer_instances: 2', 'fsdp: {enabled: true}'),
    experts: job(8, 'tp: 2, ep: 2', 'fsdp: {enabled: true}', 'model: {num_experts: 8}'),
    'version 2': job(8, 'ep: 2', 'fsdp: {enabled: true, megatron_fsdp_version: 2}'),
    'instances that do not divide the replicas': job(
      8,
      'ep: 8, expt_tp: 1, num_distributed_optimizer_instances: 3',
      'fsdp: {enabled: true}',
    ),
    off: job(8, 'pp: 2', 'fsdp: {enabled: false}'),
    'a pipeline': job(8, 'pp: 2', 'fsdp: {enabled: true}'),
    'tp outside': job(8, 'tp: 2, order: dp-cp-tp-ep-pp', 'fsdp: {enabled: true}'),
    'version 2 with tensor parallelism': job(8, 'tp: 2', 'fsdp: {enabled: true, megatron_fsdp_version: 2}'),
    'outer sharding of the optimizer alone': job(
      8,
      'num_distributed_optimizer_instances: 2',
      'fsdp: {enabled: true, data_parallel_sharding_strategy: optim, outer_dp_sharding_strategy: optim}',
    ),
    'outer sharding with one instance': job(8, 'tp: 2', 'fsdp: {enabled: true, outer_dp_sharding_strategy: optim}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "instances that do not divide the replicas: error[optimizer-instances] at "3": 3 optimizer instances divide neither dp 8 nor expt_dp 1. Use 1.
      = Megatron-LM: Data parallel size should be divisible by partial DistOpt shard factor
      = suggestion: Remove num_distributed_optimizer_instances: parallelism: {ep: 8, expt_tp: 1[-, num_distributed_optimizer_instances: 3-]}
    a pipeline: error at "2": Megatron-FSDP has no mesh for a pipeline (pp 2): it fails with a shape mismatch when it is built. Use pp 1, or switch it off.
      = suggestion: Change pp to 1: parallelism: {pp: [-2-]{+1+}}
    tp outside: error at "dp-cp-tp-ep-pp": The mesh of Megatron-FSDP needs tp innermost and ep directly above it; the order is dp-cp-tp-ep-pp. Use the default order.
      = Megatron-LM: [Megatron-FSDP] Current rank 0 in the mesh ranks [[0, 2, 4, 6], [1, 3, 5, 7]] does not match the group ranks [0, 1, 2, 3].
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-dp-cp-tp-ep-pp-]{+tp-cp-ep-dp-pp+}}
    version 2 with tensor parallelism: error at "2": Version 2 takes data and expert parallelism only, not tp 2. Use version 1.
      = Megatron-LM: MFSDP v2 does not currently support: tensor_model_parallel_size=2, pipeline_model_parallel_size=1, context_parallel_size=1
      = suggestion: Remove megatron_fsdp_version: fsdp: {enabled: true[-, megatron_fsdp_version: 2-]}
    outer sharding of the optimizer alone: error at "optim": Outer sharding needs data_parallel_sharding_strategy optim_grads_params, not optim.
      = Megatron-LM: [Megatron-FSDP] Optimizer fully-sharded HFSDP is only supported with full-sharding on DP-Shard.
      Megatron-FSDP DP-Shard Strategy: optim
      Megatron-FSDP DP-Outer Strategy: optim
      = suggestion: Change data_parallel_sharding_strategy to optim_grads_params: fsdp: {enabled: true, data_parallel_sharding_strategy: [-optim-]{+optim_grads_params+}, outer_dp_sharding_strategy: optim}
      = suggestion: Remove outer_dp_sharding_strategy: fsdp: {enabled: true, data_parallel_sharding_strategy: optim[-, outer_dp_sharding_strategy: optim-]}
    outer sharding with one instance: warning at "optim": outer_dp_sharding_strategy optim is ignored with one optimizer instance. Write num_distributed_optimizer_instances.
      = suggestion: Remove outer_dp_sharding_strategy: fsdp: {enabled: true[-, outer_dp_sharding_strategy: optim-]}"
  `);
});
