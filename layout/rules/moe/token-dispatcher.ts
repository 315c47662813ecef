import type { LayoutFacts } from '../../topology/facts';
import { type Condition, conditionsOn, firstBroken } from '../conditions';
import { changeFix, setFix } from '../fixes';
import { job, type Rule, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';

export const tokenDispatcher: Rule = {
  code: 'token-dispatcher',
  severity: 'error',
  title: 'An option that the token dispatcher does not support',
  what: '`moe_enable_deepep` is on with another dispatcher than `flex`, the `flex` dispatcher stands beside `fake_process_group`, or `allgather` beside `variable_seq_lengths`.',
  why: 'DeepEP is a backend of the flex dispatcher, whose kernels speak to real ranks.',
  failing: job(8, 'ep: 8', 'moe: {moe_token_dispatcher_type: alltoall, moe_enable_deepep: true}'),
  sources: [TRANSFORMER_CONFIG, VALIDATE_ARGS],
  check: (facts) => firstBroken(facts.text, conditions(facts)),
};

function conditions({ text, root, trainingScript }: LayoutFacts): Condition[] {
  const moe = root.moe.value;
  const fake = root.communicators.value?.fake_process_group;
  const dispatcher = moe?.moe_token_dispatcher_type;
  const isSaid = dispatcher?.value !== undefined || (trainingScript && dispatcher?.written === false);
  const deepep = moe?.moe_enable_deepep;
  const variable = root.sequence.value?.variable_seq_lengths;
  const flex = dispatcher ? setFix(text, root.moe.span, 'moe_token_dispatcher_type', dispatcher, 'flex') : null;
  return [
    conditionsOn('fake_process_group', fake)(
      fake?.value !== true || dispatcher?.value !== 'flex',
      'fake_process_group excludes moe_token_dispatcher_type flex. Use alltoall.',
      'Fake process group is not supported with flex token dispatcher.',
      changeFix('moe_token_dispatcher_type', dispatcher, 'alltoall'),
    ),
    conditionsOn('variable_seq_lengths', variable)(
      variable?.value !== true || dispatcher?.value !== 'allgather',
      'variable_seq_lengths excludes moe_token_dispatcher_type allgather. Use alltoall.',
      'Token dispatcher type: allgather does not support variable sequence length, please use alltoall dispatcher instead.',
      changeFix('moe_token_dispatcher_type', dispatcher, 'alltoall'),
    ),
    conditionsOn('moe_enable_deepep', deepep)(
      deepep?.value !== true || !isSaid || dispatcher?.value === 'flex',
      `moe_enable_deepep needs moe_token_dispatcher_type flex; it ${dispatcher?.value ? `is ${dispatcher.value}` : 'defaults to allgather'}. Use flex.`,
      'DeepEP backend is only supported with flex token dispatcher.',
      flex,
    ),
  ];
}
