import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { takesDefaults } from '../../topology/taken';
import { conditionsOn, firstBroken } from '../conditions';
import { changeFix, setFix } from '../fixes';
import { eachModel } from '../model/describedModels';
import { eitherNumber, nearestDivisors } from '../numbers';
import { job, type Report, type Rule, TRANSFORMER_CONFIG } from '../rule';

export const routerGroups: Rule = {
  code: 'router-groups',
  severity: 'error',
  title: 'The router selects more than there is',
  effect: 'Megatron-LM stops, or fails in the first step',
  what: '`moe_router_topk` is above `num_experts`; `moe_router_group_topk` stands without `moe_router_num_groups` or is above it; or the groups do not divide the experts. Or `moe_router_topk` is 1 and `moe_router_pre_softmax` is false: a warning where the file does not say what balances the experts, and information where it leaves the softmax to the default of Megatron-LM.',
  why: 'The router takes the best k experts, of the best groups first where experts are grouped. Megatron-LM does not check k against the experts; the selection fails when it runs.',
  failing: job(8, 'ep: 8', 'model: {num_experts: 8, moe_router_topk: 16}'),
  sources: [TRANSFORMER_CONFIG],
  check: eachModel(function* ({ model, module }, facts) {
    const { num_experts: experts, moe_router_topk: topk } = model;
    const { moe_router_num_groups: groups, moe_router_group_topk: groupTopk } = model;
    const count = experts.value ?? 0;
    const size = groups.value ?? 0;
    const better = nearestDivisors(Math.max(1, count), size, 3);
    const onGroups = conditionsOn('moe_router_group_topk', groupTopk);
    yield* firstBroken(facts.text, [
      onGroups(
        groupTopk.value === undefined || groups.written,
        'moe_router_group_topk needs moe_router_num_groups. Write both, or neither.',
        'When using group limited routing, moe_router_num_groups must be specified.',
      ),
      onGroups(
        groupTopk.value === undefined || size === 0 || count % size === 0,
        `moe_router_num_groups ${size} does not divide ${count} experts. Use ${eitherNumber(better)}.`,
        `num_moe_experts (${count}) should be divisible by moe_router_num_groups (${size}).`,
        ...better.map((n) => changeFix('moe_router_num_groups', groups, n)),
      ),
      onGroups(
        groupTopk.value === undefined || groups.value === undefined || groupTopk.value <= size,
        `moe_router_group_topk ${groupTopk.value} is above moe_router_num_groups ${size}. Use ${size} or less.`,
        `moe_router_group_topk (${groupTopk.value}) should be smaller than moe_router_num_groups (${size}).`,
        changeFix('moe_router_group_topk', groupTopk, size),
      ),
      conditionsOn('moe_router_topk', topk)(
        topk.value === undefined || experts.value === undefined || topk.value <= count,
        `moe_router_topk ${topk.value} is above num_experts ${count}, and the selection fails when it runs. Use ${count} or less.`,
        null,
        changeFix('moe_router_topk', topk, count),
      ),
    ]);
    yield* unscored(facts, module);
  }),
};

/** A softmax over the one selected expert, which is 1 whatever the router says: it learns nothing. */
function unscored(facts: LayoutFacts, { model, own }: ModuleFacts): Report[] {
  if (!model.value) {
    return [];
  }
  const { num_experts: experts, moe_router_topk: topk, moe_router_pre_softmax: before } = model.value;
  const { moe_router_score_function: score } = model.value;
  const balancing = facts.root.moe.value?.moe_router_load_balancing_type;
  const isDefault = own === null && !before.written && takesDefaults(facts);
  const isSoftmax = !score.written || score.value === 'softmax';
  const isOne = experts.written && topk.value === 1 && isSoftmax && balancing?.value !== 'sinkhorn';
  return isOne && (before.value === false || isDefault)
    ? [
        {
          // experts that sinkhorn balances are exempt, and a file that says less may leave out what balances them
          severity: isDefault ? 'information' : balancing?.written ? 'error' : 'warning',
          message: `With moe_router_topk 1 the softmax comes before the selection, or Megatron-LM stops${isDefault ? '; its default is the selection first' : ''}. Write moe_router_pre_softmax true.`,
          span: topk.span,
          predicts: 'Please use --moe-router-pre-softmax when topk is 1.',
          fixes: [setFix(facts.text, model.span, 'moe_router_pre_softmax', before, 'true')],
        },
      ]
    : [];
}
