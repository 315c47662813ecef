import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { megatronVersion } from './megatron-version';

test('megatron-version', () => {
  const said = reports(megatronVersion, {
    'generalized TP on main': job(8, 'tp: 2, gtp_remat: 2', 'megatron: main'),
    'generalized TP on core_r0.19': job(8, 'tp: 2, gtp_remat: 2', 'megatron: core_r0.19'),
    'hybrid context parallelism on core_r0.18': job(8, 'hybrid_context_parallel: true', 'megatron: core_r0.18'),
    'dynamic context parallelism implies dev': job(8, 'dynamic_context_parallel: true'),
    'generalized TP on dev': job(8, 'tp: 2, gtp_remat: 2', 'megatron: dev'),
    'generalized TP of experts on core_r0.18': job(8, 'ep: 2, expt_gtp_remat: 2', 'megatron: core_r0.18'),
    'dynamic context parallelism on main': job(8, 'dynamic_context_parallel: true', 'megatron: main'),
    'hybrid context parallelism on dev': job(8, 'hybrid_context_parallel: true', 'megatron: dev'),
    'gtp_remat in the order of a release without it': job(
      8,
      'tp: 2, order: tp-gtp_remat-cp-ep-dp-pp',
      'megatron: core_r0.18',
    ),
    'nonuniform TP on main': job(8, 'tp: 4', 'megatron: main', 'ntp: {tp_spares: 0, failed_ranks: [3]}'),
    'a pipeline layout in core_r0.12': job(8, 'pp: 2, pipeline_model_parallel_layout: Et|tL', 'megatron: core_r0.12'),
    'a pipeline layout in core_r0.13': job(8, 'pp: 2, pipeline_model_parallel_layout: Et|tL', 'megatron: core_r0.13'),
    'hybrid context parallelism in core_r0.15': job(8, 'hybrid_context_parallel: true', 'megatron: core_r0.15'),
    'weight shards that examples/mimo ignores':
      'layout: 1\nworld_size: 4\nmegatron: core_r0.19\nmodules:\n  language: {tp: 4, dp: 1, num_weight_shards: 6}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "generalized TP on dev: error at "2": Megatron-LM dev has no generalized TP. Use main, or gtp_remat 1.
      = Megatron-LM: initialize_model_parallel() got an unexpected keyword argument 'gtp_remat_size'
      = at "dev": megatron is dev here
      = suggestion: Change megatron to main: megatron: [-dev-]{+main+}
    generalized TP of experts on core_r0.18: error at "2": Megatron-LM core_r0.18 has no generalized TP. Use main, or gtp_remat 1.
      = Megatron-LM: initialize_model_parallel() got an unexpected keyword argument 'expert_gtp_remat_size'
      = at "core_r0.18": megatron is core_r0.18 here
      = suggestion: Change megatron to main: megatron: [-core_r0.18-]{+main+}
    dynamic context parallelism on main: error at "true": dynamic_context_parallel is of dev, and megatron is main. Use hybrid_context_parallel, or megatron dev.
      = Megatron-LM: initialize_model_parallel() got an unexpected keyword argument 'dynamic_context_parallel'
      = suggestion: Remove dynamic_context_parallel: parallelism: {[-dynamic_context_parallel: true-]}
    hybrid context parallelism on dev: error at "true": Megatron-LM dev has no hybrid_context_parallel. Use dynamic_context_parallel, or megatron main.
      = Megatron-LM: initialize_model_parallel() got an unexpected keyword argument 'hybrid_context_parallel'
      = suggestion: Remove hybrid_context_parallel: parallelism: {[-hybrid_context_parallel: true-]}
    gtp_remat in the order of a release without it: error at "tp-gtp_remat-cp-ep-dp-pp": Megatron-LM core_r0.18 has no dimension gtp_remat. Remove it from the order.
      = Megatron-LM: gtp_remat
      = at "core_r0.18": megatron is core_r0.18 here
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-tp-gtp_remat-cp-ep-dp-pp-]{+tp-cp-ep-dp-pp+}}
    nonuniform TP on main: error at "ntp": Nonuniform TP is of dev, and megatron is main. Use megatron dev, or drop the replica.
      = Megatron-LM: No module named 'megatron.core.distributed.nonuniform_tp'
      = at "main": megatron is main here
      = suggestion: Change megatron to dev: megatron: [-main-]{+dev+}
      error[ntp-failed-rank] at "3": Rank 3 has failed but stays active. Remove slot 3 of replica dp 0.
      = suggestion: Derive the spares from failed_ranks: ntp: {tp_spares: [-0-]{+1+}, failed_ranks: [3]{+, num_reduced_tp_dp_ranks: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]+}}
    a pipeline layout in core_r0.12: error at "Et|tL": Megatron-LM core_r0.12 has no pipeline_model_parallel_layout, which came with core 0.13. Use a later megatron, or remove it.
      = at "core_r0.12": megatron is core_r0.12 here
      = suggestion: Remove pipeline_model_parallel_layout: parallelism: {pp: 2[-, pipeline_model_parallel_layout: Et|tL-]}
    hybrid context parallelism in core_r0.15: error at "true": Megatron-LM core_r0.15 has no hybrid_context_parallel, which came with core 0.16. Use a later megatron, or remove it.
      = at "core_r0.15": megatron is core_r0.15 here
      = suggestion: Remove hybrid_context_parallel: parallelism: {[-hybrid_context_parallel: true-]}
    weight shards that examples/mimo ignores: warning at "6": examples/mimo of Megatron-LM core_r0.19 ignores num_weight_shards: the module has no generalized TP. Use main, or remove it.
      = at "core_r0.19": megatron is core_r0.19 here"
  `);
});
