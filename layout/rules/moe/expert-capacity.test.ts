import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { expertCapacity } from './expert-capacity';

const script = (moe: string) =>
  scriptJob(8, 'ep: 2', {
    model: 'num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_experts: 8, add_bias_linear: false',
    moe,
  });

test('expert-capacity', () => {
  const pad = 'moe_pad_expert_input_to_capacity: true';
  const said = reports(expertCapacity, {
    'a factor': script(`${pad}, moe_expert_capacity_factor: 1.5`),
    'no padding': script('moe_expert_capacity_factor: -1'),
    'a file that says less': job(8, 'ep: 2', `moe: {${pad}}`),
    'another backend': script(
      `${pad}, moe_expert_capacity_factor: 1, moe_token_dispatcher_type: flex, moe_flex_dispatcher_backend: hybridep`,
    ),
    'no factor': script(pad),
    'no limit': script(`${pad}, moe_expert_capacity_factor: -1.0`),
    'the default backend': script(`${pad}, moe_expert_capacity_factor: 1, moe_token_dispatcher_type: flex`),
    'balanced by sinkhorn': script('moe_expert_capacity_factor: 1, moe_router_load_balancing_type: sinkhorn'),
    'several ways to balance': script(
      'moe_expert_capacity_factor: 1, moe_router_load_balancing_type: [none, sinkhorn]',
    ),
    'a text': script('moe_expert_capacity_factor: much'),
  });
  expect(said).toMatchInlineSnapshot(`
    "no factor: error at "true": moe_pad_expert_input_to_capacity needs moe_expert_capacity_factor. Write moe_expert_capacity_factor 1.0.
      = Megatron-LM: moe_expert_capacity_factor must be set to use moe_pad_expert_input_to_capacity
      = suggestion: Insert moe_expert_capacity_factor: 1.0: moe: {moe_pad_expert_input_to_capacity: true{+, moe_expert_capacity_factor: 1.0+}}
      = suggestion: Remove moe_pad_expert_input_to_capacity: moe: {[-moe_pad_expert_input_to_capacity: true-]}
    no limit: error at "true": moe_pad_expert_input_to_capacity needs moe_expert_capacity_factor. Write moe_expert_capacity_factor 1.0.
      = Megatron-LM: moe_expert_capacity_factor must be set to use moe_pad_expert_input_to_capacity
      = suggestion: Change moe_expert_capacity_factor to 1.0: moe: {moe_pad_expert_input_to_capacity: true, moe_expert_capacity_factor: [--1.0-]{+1.0+}}
      = suggestion: Remove moe_pad_expert_input_to_capacity: moe: {[-moe_pad_expert_input_to_capacity: true, -]moe_expert_capacity_factor: -1.0}
    the default backend: information at "true": The flex dispatcher pads no experts with Megatron-LM's default deepep. Use alltoall, or moe_flex_dispatcher_backend hybridep.
      = Megatron-LM: Flex token dispatcher with deepep backend does not support moe_pad_expert_input_to_capacity
      = suggestion: Change moe_token_dispatcher_type to alltoall: moe: {moe_pad_expert_input_to_capacity: true, moe_expert_capacity_factor: 1, moe_token_dispatcher_type: [-flex-]{+alltoall+}}
      = suggestion: Remove moe_pad_expert_input_to_capacity: moe: {[-moe_pad_expert_input_to_capacity: true, -]moe_expert_capacity_factor: 1, moe_token_dispatcher_type: flex}
    balanced by sinkhorn: error at "1": A capacity excludes experts that are balanced by sinkhorn. Use aux_loss, seq_aux_loss, global_aux_loss or none.
      = Megatron-LM: moe_expert_capacity_factor only works with aux_loss, seq_aux_loss, global_aux_loss or none load balancing
      = suggestion: Remove moe_expert_capacity_factor: moe: {[-moe_expert_capacity_factor: 1, -]moe_router_load_balancing_type: sinkhorn}
    several ways to balance: error at "1": A capacity excludes experts that are balanced by none, sinkhorn. Use aux_loss, seq_aux_loss, global_aux_loss or none.
      = Megatron-LM: moe_expert_capacity_factor only works with aux_loss, seq_aux_loss, global_aux_loss or none load balancing
      = suggestion: Remove moe_expert_capacity_factor: moe: {[-moe_expert_capacity_factor: 1, -]moe_router_load_balancing_type: [none, sinkhorn]}
    a text: error at "much": moe_expert_capacity_factor is a number, such as 1.0.
      = suggestion: Change moe_expert_capacity_factor to 1.0: moe: {moe_expert_capacity_factor: [-much-]{+1.0+}}
      = suggestion: Remove moe_expert_capacity_factor: moe: {[-moe_expert_capacity_factor: much-]}"
  `);
});
