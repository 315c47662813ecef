import type { ModuleFacts } from '../../topology/facts';
import { firstBroken } from '../conditions';
import { changeFix } from '../fixes';
import { describedModels } from '../model/describedModels';
import { eitherNumber, nearestDivisors } from '../numbers';
import type { Report, Rule } from '../rule';
import { megatron } from '../source';

export const routerGroups: Rule = {
  code: 'router-groups',
  severity: 'error',
  title: 'The router selects more than there is',
  effect: 'Megatron-LM stops, or fails in the first step',
  what: '`moe_router_topk` is above `num_experts`; `moe_router_group_topk` stands without `moe_router_num_groups` or is above it; or the groups do not divide the experts. A warning: `moe_router_topk` is 1 and `moe_router_pre_softmax` is written false.',
  why: 'The router takes the best k experts, of the best groups first where experts are grouped. Megatron-LM does not check k against the experts; the selection fails when it runs.',
  failing: `layout: 1
world_size: 8
parallelism: {ep: 8}
model: {num_experts: 8, moe_router_topk: 16}
`,
  passing: `layout: 1
world_size: 8
parallelism: {ep: 8}
model: {num_experts: 8, moe_router_topk: 2}
`,
  sources: [megatron('megatron/core/transformer/transformer_config.py', 'TransformerConfig.__post_init__')],
  *check(facts) {
    for (const { model, module } of describedModels(facts)) {
      const { num_experts: experts, moe_router_topk: topk } = model;
      const { moe_router_num_groups: groups, moe_router_group_topk: groupTopk } = model;
      const count = experts.value;
      const perGroup = { name: 'moe_router_group_topk', field: groupTopk };
      yield* firstBroken(facts.text, [
        {
          ...perGroup,
          holds: groupTopk.value === undefined || groups.written,
          message: 'moe_router_group_topk needs moe_router_num_groups. Write both, or neither.',
          predicts: 'When using group limited routing, moe_router_num_groups must be specified.',
        },
        {
          ...perGroup,
          holds:
            groupTopk.value === undefined ||
            groups.value === undefined ||
            count === undefined ||
            count % groups.value === 0,
          message: `moe_router_num_groups ${groups.value} does not divide ${count} experts. Use ${eitherNumber(nearestDivisors(count ?? 1, groups.value ?? 1, 3))}.`,
          fixes: nearestDivisors(count ?? 1, groups.value ?? 1, 3).map((n) =>
            changeFix('moe_router_num_groups', groups.span, n),
          ),
          predicts: `num_moe_experts (${count}) should be divisible by moe_router_num_groups (${groups.value}).`,
        },
        {
          ...perGroup,
          holds: groupTopk.value === undefined || groups.value === undefined || groupTopk.value <= groups.value,
          message: `moe_router_group_topk ${groupTopk.value} is above moe_router_num_groups ${groups.value}. Use ${groups.value} or less.`,
          fixes: [changeFix('moe_router_group_topk', groupTopk.span, groups.value ?? 1)],
          predicts: `moe_router_group_topk (${groupTopk.value}) should be smaller than moe_router_num_groups (${groups.value}).`,
        },
        {
          name: 'moe_router_topk',
          field: topk,
          holds: topk.value === undefined || count === undefined || topk.value <= count,
          message: `moe_router_topk ${topk.value} is above the ${count} experts: the selection fails when it runs. Use ${count} or less.`,
          predicts: null,
          fixes: [changeFix('moe_router_topk', topk.span, count ?? 1)],
        },
      ]);
      yield* unscored(module);
    }
  },
};

/** A softmax over the one selected expert, which is 1 whatever the router says: it learns nothing. */
function unscored({ model }: ModuleFacts): Report[] {
  if (!model.value) {
    return [];
  }
  const { num_experts: experts, moe_router_topk: topk, moe_router_pre_softmax: before } = model.value;
  const { moe_router_score_function: score } = model.value;
  const isSoftmax = !score.written || score.value === 'softmax';
  return experts.written && topk.value === 1 && isSoftmax && before.value === false
    ? [
        {
          // experts that sinkhorn balances are exempt, and the file does not say what balances them
          severity: 'warning',
          message:
            'With moe_router_topk 1 the softmax comes before the selection, or Megatron-LM stops. Write moe_router_pre_softmax true.',
          span: topk.span,
          predicts: 'Please use --moe-router-pre-softmax when topk is 1.',
          fixes: [changeFix('moe_router_pre_softmax', before.span, 'true')],
        },
      ]
    : [];
}
