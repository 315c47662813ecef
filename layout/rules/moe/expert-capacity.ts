import type { LayoutFacts } from '../../topology/facts';
import { takenOf, takenText, takesDefaults } from '../../topology/taken';
import { byDefault, type Condition, conditionsOn, firstBroken } from '../conditions';
import { changeFix, setFix } from '../fixes';
import { job, type Rule, TRANSFORMER_CONFIG } from '../rule';

/** The ways to balance experts that take a capacity. */
const BALANCED = ['aux_loss', 'seq_aux_loss', 'global_aux_loss', 'none'];

export const expertCapacity: Rule = {
  code: 'expert-capacity',
  severity: 'error',
  title: 'A capacity of experts that cannot hold',
  what: '`moe_pad_expert_input_to_capacity` is on without a `moe_expert_capacity_factor` of 0 or more, or with the DeepEP backend of the flex dispatcher; `moe_expert_capacity_factor` is no number, or the experts are balanced by `sinkhorn`.',
  why: 'The capacity of an expert is its even share of the tokens times the factor; without a factor there is none to pad to.',
  failing: job(8, 'ep: 2', 'moe: {moe_pad_expert_input_to_capacity: true, moe_token_dispatcher_type: alltoall}'),
  sources: [TRANSFORMER_CONFIG],
  check: (facts) => firstBroken(facts.text, conditions(facts)),
};

function conditions(facts: LayoutFacts): Condition[] {
  const { text, root } = facts;
  const moe = root.moe.value;
  if (!moe) {
    return [];
  }
  const { moe_pad_expert_input_to_capacity: pad, moe_expert_capacity_factor: factor } = moe;
  const backend = takenOf(facts, 'moe', 'moe_flex_dispatcher_backend');
  const isDeepep = moe.moe_enable_deepep.value === true || backend.value === 'deepep';
  const balancing = moe.moe_router_load_balancing_type.value;
  const ways = typeof balancing === 'string' ? [balancing] : (balancing ?? []).map(({ value }) => value);
  const hasFactor = typeof factor.value === 'number' && factor.value >= 0;
  const isKnown = factor.written || takesDefaults(facts) || moe.moe_token_dispatcher_type.written;
  return [
    conditionsOn('moe_expert_capacity_factor', factor)(
      !factor.written || typeof factor.value === 'number',
      'moe_expert_capacity_factor is a number, such as 1.0.',
      null,
      changeFix('moe_expert_capacity_factor', factor, '1.0'),
    ),
    conditionsOn('moe_pad_expert_input_to_capacity', pad)(
      byDefault(backend, pad.value !== true || moe.moe_token_dispatcher_type.value !== 'flex' || !isDeepep),
      `The flex dispatcher pads no experts with ${backend.isDefault ? takenText(backend) : 'deepep'}. Use alltoall, or moe_flex_dispatcher_backend hybridep.`,
      'Flex token dispatcher with deepep backend does not support moe_pad_expert_input_to_capacity',
      changeFix('moe_token_dispatcher_type', moe.moe_token_dispatcher_type, 'alltoall'),
    ),
    conditionsOn('moe_expert_capacity_factor', factor)(
      !hasFactor || ways.every((way) => way === undefined || BALANCED.includes(way)),
      `A capacity excludes experts that are balanced by ${ways.join(', ')}. Use ${BALANCED.slice(0, 3).join(', ')} or none.`,
      'moe_expert_capacity_factor only works with aux_loss, seq_aux_loss, global_aux_loss or none load balancing',
    ),
    conditionsOn('moe_pad_expert_input_to_capacity', pad)(
      pad.value !== true || hasFactor || !isKnown,
      'moe_pad_expert_input_to_capacity needs moe_expert_capacity_factor. Write moe_expert_capacity_factor 1.0.',
      'moe_expert_capacity_factor must be set to use moe_pad_expert_input_to_capacity',
      setFix(text, root.moe.span, 'moe_expert_capacity_factor', factor, '1.0'),
    ),
  ];
}
