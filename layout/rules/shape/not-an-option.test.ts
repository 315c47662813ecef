import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { notAnOption } from './not-an-option';

test('not-an-option', () => {
  const said = reports(notAnOption, {
    'a misspelt word': job(8, 'tp: 2', 'smoke: {checks: [group]}'),
    'a word like none of them': job(8, 'tp: 2', 'ntp: {placement: elsewhere}'),
    'a version that is not known': 'layout: 1\nworld_size: 8\nmegatron: core_r0.11\nparallelism: {tp: 2}\n',
    'the word of PyTorch': job(8, 'tp: 2', 'fsdp: {enabled: true, data_parallel_sharding_strategy: FULL_SHARD}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a misspelt word: error at "group": smoke.checks[0] is 'group', which is not one of its choices. Did you mean groups?
      = safe fix: Change to groups: smoke: {checks: [[-group-]{+groups+}]}
    a word like none of them: error at "elsewhere": ntp.placement is 'elsewhere', which is not one of its choices. Use nominal or packed.
      = suggestion: Change to nominal: ntp: {placement: [-elsewhere-]{+nominal+}}
      = suggestion: Change to packed: ntp: {placement: [-elsewhere-]{+packed+}}
    a version that is not known: error at "core_r0.11": megatron is 'core_r0.11', which is not one of its choices. Use main, dev, core_r0.19, core_r0.18, core_r0.17, core_r0.16, core_r0.15, core_r0.14, core_r0.13 or core_r0.12.
      = suggestion: Change to main: megatron: [-core_r0.11-]{+main+}
      = suggestion: Change to dev: megatron: [-core_r0.11-]{+dev+}
      = suggestion: Change to core_r0.19: megatron: [-core_r0.11-]{+core_r0.19+}
      = suggestion: Change to core_r0.18: megatron: [-core_r0.11-]{+core_r0.18+}
    the word of PyTorch: error at "FULL_SHARD": fsdp.data_parallel_sharding_strategy is 'FULL_SHARD', which is not one of its choices. Did you mean optim_grads_params?
      = safe fix: Change to optim_grads_params: fsdp: {enabled: true, data_parallel_sharding_strategy: [-FULL_SHARD-]{+optim_grads_params+}}"
  `);
});
