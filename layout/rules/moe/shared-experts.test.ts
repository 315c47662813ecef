import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { sharedExperts } from './shared-experts';

const MODEL = 'num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_experts: 8, add_bias_linear: false';
const shared = (moe: string, rest: Readonly<Record<string, string>> = {}) =>
  scriptJob(8, 'ep: 2', { model: `${MODEL}, moe_shared_expert_intermediate_size: 64`, moe, ...rest });

test('shared-experts', () => {
  const overlap = 'moe_shared_expert_overlap: true';
  const said = reports(sharedExperts, {
    alltoall: shared(`${overlap}, moe_token_dispatcher_type: alltoall`),
    'no shared experts': scriptJob(8, 'ep: 2', { model: MODEL, moe: overlap }),
    'a file that says less': job(8, 'ep: 2', 'model: {moe_shared_expert_intermediate_size: 64}', `moe: {${overlap}}`),
    'the default dispatcher': shared(overlap),
    recomputed: shared(`${overlap}, moe_token_dispatcher_type: flex`, {
      recompute: 'granularity: selective, modules: [shared_experts]',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "the default dispatcher: information at "true": moe_shared_expert_overlap needs the alltoall or flex dispatcher, not Megatron-LM's default allgather. Use alltoall.
      = Megatron-LM: moe_shared_expert_overlap only works with alltoall or flex token dispatcher.
      = suggestion: Insert moe_token_dispatcher_type: alltoall: moe: {moe_shared_expert_overlap: true{+, moe_token_dispatcher_type: alltoall+}}
      = suggestion: Remove moe_shared_expert_overlap: moe: {[-moe_shared_expert_overlap: true-]}
    recomputed: error at "true": moe_shared_expert_overlap excludes recomputation of shared_experts. Leave it out of the modules.
      = Megatron-LM: shared_experts recompute cannot work with --moe-shared-expert-overlap.
      = suggestion: Remove moe_shared_expert_overlap: moe: {[-moe_shared_expert_overlap: true, -]moe_token_dispatcher_type: flex}"
  `);
});
