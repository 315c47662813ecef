import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { cpHeads } from './cp-heads';

const A2A = 'sequence: {cp_comm_type: a2a}';

test('cp-heads', () => {
  const said = reports(cpHeads, {
    'heads for all': job(8, 'cp: 8', 'model: {num_attention_heads: 8}', A2A),
    'point to point needs none': job(8, 'cp: 8', 'model: {num_attention_heads: 4}'),
    'heads that are not described': job(8, 'cp: 8', 'model: {num_layers: 4}', A2A),
    'latent attention has a key for each head': job(
      8,
      'cp: 8',
      'model: {num_attention_heads: 8, num_query_groups: 1, multi_latent_attention: true}',
      A2A,
    ),
    'only the first level exchanges heads': job(
      8,
      'cp: 8, hierarchical_context_parallel_sizes: [2, 4]',
      'model: {num_attention_heads: 2}',
      'sequence: {cp_comm_type: a2a+p2p}',
    ),
    'too few heads on a rank': job(8, 'tp: 2, cp: 4', 'model: {num_attention_heads: 4}', A2A),
    'too few query groups, in one layer': job(
      8,
      'cp: 8',
      'model: {num_layers: 2, num_attention_heads: 16, num_query_groups: 2}',
      'sequence: {cp_comm_type: [p2p, a2a]}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "too few heads on a rank: error at "a2a": A tensor-parallel rank has 2 attention heads, which all-to-all cannot share among 4 context-parallel ranks. Use cp_comm_type p2p, or a smaller cp.
      = Megatron-LM: The number of attention heads needs to be divisible by CP size!
      = at "4": num_attention_heads is 4 here
      = suggestion: Change cp_comm_type to p2p: sequence: {cp_comm_type: [-a2a-]{+p2p+}}
    too few query groups, in one layer: error at "[p2p, a2a]": A tensor-parallel rank has 2 query groups, which all-to-all cannot share among 8 context-parallel ranks. Use cp_comm_type p2p, or a smaller cp.
      = Megatron-LM: The number of attention heads needs to be divisible by CP size!
      = at "2": num_query_groups is 2 here
      = suggestion: Change cp_comm_type to p2p: sequence: {cp_comm_type: [-[p2p, a2a]-]{+p2p+}}"
  `);
});
