import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { expertOverlap } from './expert-overlap';

test('expert-overlap', () => {
  const said = reports(expertOverlap, {
    'with experts in parallel': job(8, 'ep: 8', 'moe: {overlap_moe_expert_parallel_comm: true}'),
    'with an interleaved pipeline': job(8, 'pp: 2, vpp: 2, ep: 4', 'moe: {overlap_moe_expert_parallel_comm: true}'),
    'a plain pipeline': job(8, 'pp: 2, ep: 4', 'moe: {overlap_moe_expert_parallel_comm: true}'),
    'no experts in parallel': job(8, 'tp: 2', 'moe: {overlap_moe_expert_parallel_comm: true}'),
    'the allgather dispatcher': job(
      8,
      'ep: 8',
      'moe: {overlap_moe_expert_parallel_comm: true, moe_token_dispatcher_type: allgather}',
    ),
    'the default dispatcher of a training script': scriptJob(8, 'ep: 8', {
      moe: 'overlap_moe_expert_parallel_comm: true',
    }),
    'shared experts that overlap too': job(
      8,
      'ep: 8',
      'moe: {overlap_moe_expert_parallel_comm: true, moe_shared_expert_overlap: true}',
    ),
    'full recomputation': job(
      8,
      'ep: 8',
      'moe: {overlap_moe_expert_parallel_comm: true}',
      'recompute: {granularity: full}',
    ),
    'two MTP layers': job(8, 'ep: 8', 'moe: {overlap_moe_expert_parallel_comm: true}', 'model: {mtp_num_layers: 2}'),
    'delayed weight gradients alone': scriptJob(8, 'tp: 1', { moe: 'delay_wgrad_compute: true' }),
  });
  expect(said).toMatchInlineSnapshot(`
    "a plain pipeline: error at "true": overlap_moe_expert_parallel_comm needs an interleaved pipeline. Write vpp, or use pp 1.
      = Megatron-LM: If enabling EP A2A overlap, virtual_pipeline_model_parallel_size must be specified when pipeline_model_parallel_size > 1
      = suggestion: Insert vpp: 2: parallelism: {pp: 2, ep: 4{+, vpp: 2+}}
      = suggestion: Remove overlap_moe_expert_parallel_comm: moe: {[-overlap_moe_expert_parallel_comm: true-]}
    no experts in parallel: error at "true": overlap_moe_expert_parallel_comm needs expert parallelism; ep is 1. Use ep 2 or more.
      = Megatron-LM: overlap_moe_expert_parallel_comm is only supported with expert model parallelism
      = suggestion: Insert ep: 2: parallelism: {tp: 2{+, ep: 2+}}
      = suggestion: Remove overlap_moe_expert_parallel_comm: moe: {[-overlap_moe_expert_parallel_comm: true-]}
    the allgather dispatcher: error at "true": overlap_moe_expert_parallel_comm needs the alltoall or flex dispatcher, not allgather. Use alltoall.
      = Megatron-LM: overlap_moe_expert_parallel_comm is supported with alltoall/flex token dispatcher
      = suggestion: Change moe_token_dispatcher_type to alltoall: moe: {overlap_moe_expert_parallel_comm: true, moe_token_dispatcher_type: [-allgather-]{+alltoall+}}
      = suggestion: Remove overlap_moe_expert_parallel_comm: moe: {[-overlap_moe_expert_parallel_comm: true, -]moe_token_dispatcher_type: allgather}
    the default dispatcher of a training script: error[experts] at "8": ep is 8, but the model has no experts. Write num_experts, or use ep 1.
      = Megatron-LM: num_experts must be non None to use expert model parallelism
      information at "true": overlap_moe_expert_parallel_comm needs the alltoall or flex dispatcher, not Megatron-LM's default allgather. Use alltoall.
      = Megatron-LM: overlap_moe_expert_parallel_comm is supported with alltoall/flex token dispatcher
      = suggestion: Insert moe_token_dispatcher_type: alltoall: moe: {overlap_moe_expert_parallel_comm: true{+, moe_token_dispatcher_type: alltoall+}}
      = suggestion: Remove overlap_moe_expert_parallel_comm: moe: {[-overlap_moe_expert_parallel_comm: true-]}
    shared experts that overlap too: error at "true": overlap_moe_expert_parallel_comm excludes moe_shared_expert_overlap. Use one of them.
      = Megatron-LM: disable moe_shared_expert_overlap when enabling overlap_moe_expert_parallel_comm
      = suggestion: Remove moe_shared_expert_overlap: moe: {overlap_moe_expert_parallel_comm: true[-, moe_shared_expert_overlap: true-]}
      = suggestion: Remove overlap_moe_expert_parallel_comm: moe: {[-overlap_moe_expert_parallel_comm: true, -]moe_shared_expert_overlap: true}
    full recomputation: error at "true": overlap_moe_expert_parallel_comm excludes full recomputation. Use selective, or none.
      = Megatron-LM: disable full recomputation when enabling overlap_moe_expert_parallel_comm
      = suggestion: Change granularity to selective: recompute: {granularity: [-full-]{+selective+}}
      = suggestion: Remove overlap_moe_expert_parallel_comm: moe: {[-overlap_moe_expert_parallel_comm: true-]}
    two MTP layers: error at "true": overlap_moe_expert_parallel_comm takes one MTP layer at most; mtp_num_layers is 2.
      = Megatron-LM: MTP supports at most one layer when enabling overlap_moe_expert_parallel_comm.
      = suggestion: Change mtp_num_layers to 1: model: {mtp_num_layers: [-2-]{+1+}}
      = suggestion: Remove overlap_moe_expert_parallel_comm: moe: {[-overlap_moe_expert_parallel_comm: true-]}
    delayed weight gradients alone: error at "true": delay_wgrad_compute needs overlap_moe_expert_parallel_comm. Write overlap_moe_expert_parallel_comm true.
      = Megatron-LM: overlap_moe_expert_parallel_comm must be enabled when enabling delay_wgrad_compute
      = suggestion: Remove delay_wgrad_compute: moe: {[-delay_wgrad_compute: true-]}"
  `);
});
