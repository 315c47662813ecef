import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { fsdpExpertGroup } from './fsdp-expert-group';

const said = (text: string) => report(fsdpExpertGroup, text);
const FSDP = 'fsdp: {enabled: true, create_expert_all_gather_group: true}';

test('expert parallelism', () => {
  expect(said(job(16, 'tp: 2, ep: 4', FSDP))).toBe('');
});

test('ep is not written', () => {
  expect(said(job(16, 'tp: 2', FSDP))).toMatchInlineSnapshot(`
    "error[fsdp-expert-group] at "true"
    Megatron-LM makes no expert all-gather group while ep is 1. Remove create_expert_all_gather_group, or use ep 2 or more.
    = suggestion: Remove \`create_expert_all_gather_group\`
      - fsdp: {enabled: true, create_expert_all_gather_group: true}
      + fsdp: {enabled: true}"
  `);
});

test('ep is 1', () => {
  expect(said(job(16, 'tp: 2, ep: 1', FSDP))).toMatchInlineSnapshot(`
    "error[fsdp-expert-group] at "true"
    Megatron-LM makes no expert all-gather group while ep is 1. Remove create_expert_all_gather_group, or use ep 2 or more.
    = at "1": ep is 1 here
    = suggestion: Remove \`create_expert_all_gather_group\`
      - fsdp: {enabled: true, create_expert_all_gather_group: true}
      + fsdp: {enabled: true}"
  `);
});
