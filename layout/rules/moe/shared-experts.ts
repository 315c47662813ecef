import { valuesOf } from '../../format/spec';
import { takenOf, takenText } from '../../topology/taken';
import { byDefault, conditionsOn, firstBroken } from '../conditions';
import { setFix } from '../fixes';
import { job, type Rule, TRANSFORMER_CONFIG } from '../rule';

export const sharedExperts: Rule = {
  code: 'shared-experts',
  severity: 'error',
  title: 'Shared experts cannot overlap so',
  what: '`moe_shared_expert_overlap` is on for a model with shared experts, and the dispatcher is `allgather` (which Megatron-LM takes where none is written), or the shared experts are recomputed.',
  why: 'The shared experts run while tokens travel to the others, in steps that only the alltoall and flex dispatchers have.',
  failing: job(
    8,
    'ep: 2',
    'model: {num_experts: 8, moe_shared_expert_intermediate_size: 1024}',
    'moe: {moe_shared_expert_overlap: true, moe_token_dispatcher_type: allgather}',
  ),
  sources: [TRANSFORMER_CONFIG],
  *check(facts) {
    const { text, root } = facts;
    const overlap = root.moe.value?.moe_shared_expert_overlap;
    const width = root.model.value?.moe_shared_expert_intermediate_size;
    if (overlap?.value !== true || !width?.written) {
      return;
    }
    const dispatcher = takenOf(facts, 'moe', 'moe_token_dispatcher_type');
    const recompute = root.recompute.value;
    const isRecomputed =
      recompute?.granularity.value === 'selective' && valuesOf(recompute.modules.value).includes('shared_experts');
    const condition = conditionsOn('moe_shared_expert_overlap', overlap);
    yield* firstBroken(text, [
      condition(
        byDefault(dispatcher, dispatcher.value !== 'allgather'),
        `moe_shared_expert_overlap needs the alltoall or flex dispatcher, not ${takenText(dispatcher)}. Use alltoall.`,
        'moe_shared_expert_overlap only works with alltoall or flex token dispatcher.',
        setFix(text, root.moe.span, 'moe_token_dispatcher_type', root.moe.value?.moe_token_dispatcher_type, 'alltoall'),
      ),
      condition(
        !isRecomputed,
        'moe_shared_expert_overlap excludes recomputation of shared_experts. Leave it out of the modules.',
        'shared_experts recompute cannot work with --moe-shared-expert-overlap.',
      ),
    ]);
  },
};
