import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { fsdpExpertGroup } from './fsdp-expert-group';

const FSDP = 'fsdp: {enabled: true, create_expert_all_gather_group: true}';

test('fsdp-expert-group', () => {
  const said = reports(fsdpExpertGroup, {
    'expert parallelism': job(16, 'tp: 2, ep: 4', FSDP),
    'ep is not written': job(16, 'tp: 2', FSDP),
    'ep is 1': job(16, 'tp: 2, ep: 1', FSDP),
  });
  expect(said).toMatchInlineSnapshot(`
    "ep is not written: error at "true": Megatron-LM makes no expert all-gather group while ep is 1. Remove create_expert_all_gather_group, or use ep 2 or more.
      = suggestion: Remove create_expert_all_gather_group: fsdp: {enabled: true[-, create_expert_all_gather_group: true-]}
    ep is 1: error at "true": Megatron-LM makes no expert all-gather group while ep is 1. Remove create_expert_all_gather_group, or use ep 2 or more.
      = at "1": ep is 1 here
      = suggestion: Remove create_expert_all_gather_group: fsdp: {enabled: true[-, create_expert_all_gather_group: true-]}"
  `);
});
