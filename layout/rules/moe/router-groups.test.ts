import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { routerGroups } from './router-groups';

const router = (options: string) => job(8, 'ep: 8', `model: {num_experts: 8, ${options}}`);

test('router-groups', () => {
  const said = reports(routerGroups, {
    '4 of 8 groups': router('moe_router_topk: 8, moe_router_num_groups: 8, moe_router_group_topk: 4'),
    'more experts than there are': router('moe_router_topk: 16'),
    'no groups': router('moe_router_group_topk: 2'),
    'groups that do not divide the experts': router('moe_router_num_groups: 3, moe_router_group_topk: 2'),
    'more groups than there are': router('moe_router_num_groups: 4, moe_router_group_topk: 5'),
    'one expert a token, with scores that need no softmax': router(
      'moe_router_topk: 1, moe_router_score_function: sigmoid, moe_router_pre_softmax: false',
    ),
    'one expert a token, whose softmax is not said': router('moe_router_topk: 1'),
    'experts that sinkhorn balances': `${router('moe_router_topk: 1, moe_router_pre_softmax: false')}moe: {moe_router_load_balancing_type: sinkhorn}\n`,
    'the default of a training script': scriptJob(8, 'ep: 8', {
      model: 'num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_experts: 8, moe_router_topk: 1',
    }),
    'a softmax over one expert': router('moe_router_topk: 1, moe_router_pre_softmax: false'),
  });
  expect(said).toMatchInlineSnapshot(`
    "more experts than there are: error at "16": moe_router_topk 16 is above num_experts 8, and the selection fails when it runs. Use 8 or less.
      = suggestion: Change moe_router_topk to 8: model: {num_experts: 8, moe_router_topk: [-16-]{+8+}}
      = suggestion: Remove moe_router_topk: model: {num_experts: 8[-, moe_router_topk: 16-]}
    no groups: error at "2": moe_router_group_topk needs moe_router_num_groups. Write both, or neither.
      = Megatron-LM: When using group limited routing, moe_router_num_groups must be specified.
      = suggestion: Remove moe_router_group_topk: model: {num_experts: 8[-, moe_router_group_topk: 2-]}
    groups that do not divide the experts: error at "2": moe_router_num_groups 3 does not divide 8 experts. Use 1, 2 or 4.
      = Megatron-LM: num_moe_experts (8) should be divisible by moe_router_num_groups (3).
      = suggestion: Change moe_router_num_groups to 2: model: {num_experts: 8, moe_router_num_groups: [-3-]{+2+}, moe_router_group_topk: 2}
      = suggestion: Change moe_router_num_groups to 4: model: {num_experts: 8, moe_router_num_groups: [-3-]{+4+}, moe_router_group_topk: 2}
      = suggestion: Remove moe_router_group_topk: model: {num_experts: 8, moe_router_num_groups: 3[-, moe_router_group_topk: 2-]}
    more groups than there are: error at "5": moe_router_group_topk 5 is above moe_router_num_groups 4. Use 4 or less.
      = Megatron-LM: moe_router_group_topk (5) should be smaller than moe_router_num_groups (4).
      = suggestion: Change moe_router_group_topk to 4: model: {num_experts: 8, moe_router_num_groups: 4, moe_router_group_topk: [-5-]{+4+}}
      = suggestion: Remove moe_router_group_topk: model: {num_experts: 8, moe_router_num_groups: 4[-, moe_router_group_topk: 5-]}
    the default of a training script: information at "1": With moe_router_topk 1 the softmax comes before the selection, or Megatron-LM stops; its default is the selection first. Write moe_router_pre_softmax true.
      = Megatron-LM: Please use --moe-router-pre-softmax when topk is 1.
      = suggestion: Insert moe_router_pre_softmax: true: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_experts: 8, moe_router_topk: 1{+, moe_router_pre_softmax: true+}}
    a softmax over one expert: warning at "1": With moe_router_topk 1 the softmax comes before the selection, or Megatron-LM stops. Write moe_router_pre_softmax true.
      = Megatron-LM: Please use --moe-router-pre-softmax when topk is 1.
      = suggestion: Change moe_router_pre_softmax to true: model: {num_experts: 8, moe_router_topk: 1, moe_router_pre_softmax: [-false-]{+true+}}"
  `);
});
