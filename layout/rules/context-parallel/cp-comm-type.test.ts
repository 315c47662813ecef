import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { cpCommType } from './cp-comm-type';

test('cp-comm-type', () => {
  const said = reports(cpCommType, {
    'with levels': job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 4]', 'sequence: {cp_comm_type: a2a+p2p}'),
    'all to all needs none': job(16, 'cp: 8', 'sequence: {cp_comm_type: a2a}'),
    'hierarchical exchange without levels': job(16, 'cp: 8', 'sequence: {cp_comm_type: a2a+p2p}'),
    'levels for whole nodes of the cluster': job(
      32,
      'tp: 2, cp: 8',
      'cluster: {nodes: 4, gpus_per_node: 8}',
      'sequence: {cp_comm_type: a2a+p2p}',
    ),
    'in a module':
      'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, cp: 2, sequence: {cp_comm_type: a2a+p2p}}\n',
    'a list of another length than the layers': job(
      8,
      'cp: 2',
      'model: {num_layers: 8}',
      'sequence: {cp_comm_type: [p2p, a2a, p2p]}',
    ),
    'sparse attention with the default exchange': job(
      16,
      'cp: 2',
      'model: {experimental_attention_variant: dsa}',
      'sequence: {seq_length: 64}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "hierarchical exchange without levels: error at "a2a+p2p": a2a+p2p needs hierarchical_context_parallel_sizes. Use p2p, or write them.
      = Megatron-LM: --hierarchical-context-parallel-sizes must be set when a2a+p2p is used in cp comm
      = suggestion: Write 4 ranks inside a node x 2 nodes: parallelism: {cp: 8{+, hierarchical_context_parallel_sizes: [4, 2]+}}
      = suggestion: Change to p2p: sequence: {cp_comm_type: [-a2a+p2p-]{+p2p+}}
      = suggestion: Remove cp_comm_type: sequence: {[-cp_comm_type: a2a+p2p-]}
    levels for whole nodes of the cluster: error at "a2a+p2p": a2a+p2p needs hierarchical_context_parallel_sizes. Use p2p, or write them.
      = Megatron-LM: --hierarchical-context-parallel-sizes must be set when a2a+p2p is used in cp comm
      = suggestion: Write 4 ranks inside a node x 2 nodes: parallelism: {tp: 2, cp: 8{+, hierarchical_context_parallel_sizes: [4, 2]+}}
      = suggestion: Change to p2p: sequence: {cp_comm_type: [-a2a+p2p-]{+p2p+}}
      = suggestion: Remove cp_comm_type: sequence: {[-cp_comm_type: a2a+p2p-]}
    in a module: error at "a2a+p2p": a2a+p2p needs hierarchical_context_parallel_sizes, which a module cannot have. Use p2p.
      = Megatron-LM: --hierarchical-context-parallel-sizes must be set when a2a+p2p is used in cp comm
      = suggestion: Change to p2p: language: {num_ranks: 8, cp: 2, sequence: {cp_comm_type: [-a2a+p2p-]{+p2p+}}}
      = suggestion: Remove cp_comm_type: language: {num_ranks: 8, cp: 2, sequence: {[-cp_comm_type: a2a+p2p-]}}
    a list of another length than the layers: error at "[p2p, a2a, p2p]": cp_comm_type lists 3 types for 8 layers. Use one a layer, or one for all.
      = Megatron-LM: Length of cp_comm_type (3) should equal to the total number of transformer layers (8)!
      = suggestion: Remove cp_comm_type: sequence: {[-cp_comm_type: [p2p, a2a, p2p]-]}
    sparse attention with the default exchange: error at "2": Sparse attention under context parallelism needs cp_comm_type all_gather.
      = Megatron-LM: DSAttention context parallelism currently supports cp_comm_type=allgather only.
      = at "dsa": experimental_attention_variant is dsa here
      = suggestion: Insert cp_comm_type: all_gather: sequence: {seq_length: 64{+, cp_comm_type: all_gather+}}"
  `);
});
