import type { LayoutFacts } from '../../topology/facts';
import { type Condition, firstBroken } from '../conditions';
import type { Rule } from '../rule';
import { megatron } from '../source';

export const tokenDispatcher: Rule = {
  code: 'token-dispatcher',
  severity: 'error',
  title: 'The token dispatcher does not go with its options',
  effect: 'Megatron-LM stops on every rank',
  what: '`moe_enable_deepep` is on with another dispatcher than `flex`, or the `flex` dispatcher stands beside `fake_process_group`.',
  why: 'DeepEP is a backend of the flex dispatcher, whose kernels speak to real ranks.',
  failing: `layout: 1
world_size: 8
parallelism: {ep: 8}
moe: {moe_token_dispatcher_type: alltoall, moe_enable_deepep: true}
`,
  passing: `layout: 1
world_size: 8
parallelism: {ep: 8}
moe: {moe_token_dispatcher_type: flex, moe_enable_deepep: true}
`,
  sources: [
    megatron('megatron/core/transformer/transformer_config.py', 'TransformerConfig.__post_init__'),
    megatron('megatron/training/arguments.py', 'validate_args'),
  ],
  *check(facts) {
    yield* firstBroken(facts.text, conditions(facts));
  },
};

function conditions({ root, trainingScript }: LayoutFacts): Condition[] {
  const moe = root.moe.value;
  const fake = root.communicators.value?.fake_process_group;
  const dispatcher = moe?.moe_token_dispatcher_type;
  const isSaid = dispatcher?.value !== undefined || (trainingScript && dispatcher?.written === false);
  const deepep = moe?.moe_enable_deepep;
  return [
    ...(fake?.value === true
      ? [
          {
            name: 'fake_process_group',
            field: fake,
            holds: dispatcher?.value !== 'flex',
            message: 'fake_process_group excludes the flex dispatcher. Use alltoall.',
            predicts: 'Fake process group is not supported with flex token dispatcher.',
          },
        ]
      : []),
    ...(deepep?.value === true
      ? [
          {
            name: 'moe_enable_deepep',
            field: deepep,
            holds: !isSaid || dispatcher?.value === 'flex',
            message: `moe_enable_deepep needs the flex dispatcher, not ${dispatcher?.value ?? 'allgather, the default'}. Use moe_token_dispatcher_type flex.`,
            predicts: 'DeepEP backend is only supported with flex token dispatcher.',
          },
        ]
      : []),
  ];
}
