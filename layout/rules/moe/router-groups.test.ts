import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { routerGroups } from './router-groups';

const said = (text: string) => report(routerGroups, text);

test.each([
  [
    '8 of 256 in 4 of 8 groups',
    job(
      8,
      'ep: 8',
      'model: {num_experts: 256, moe_router_topk: 8, moe_router_num_groups: 8, moe_router_group_topk: 4}',
    ),
  ],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('more experts than there are', () => {
  expect(said(job(8, 'ep: 8', 'model: {num_experts: 8, moe_router_topk: 16}'))).toMatchInlineSnapshot(`
    "error[router-groups] at "16"
    moe_router_topk 16 is above the 8 experts: the selection fails when it runs. Use 8 or less.
    = suggestion: Change moe_router_topk to 8
      - model: {num_experts: 8, moe_router_topk: 16}
      + model: {num_experts: 8, moe_router_topk: 8}
    = suggestion: Remove \`moe_router_topk\`
      - model: {num_experts: 8, moe_router_topk: 16}
      + model: {num_experts: 8}"
  `);
});

test('no groups', () => {
  expect(said(job(8, 'ep: 8', 'model: {num_experts: 8, moe_router_group_topk: 2}'))).toMatchInlineSnapshot(`
    "error[router-groups] at "2"
    moe_router_group_topk needs moe_router_num_groups. Write both, or neither.
    = Megatron-LM: When using group limited routing, moe_router_num_groups must be specified.
    = suggestion: Remove \`moe_router_group_topk\`
      - model: {num_experts: 8, moe_router_group_topk: 2}
      + model: {num_experts: 8}"
  `);
});

test('groups that do not divide the experts', () => {
  expect(
    said(job(8, 'ep: 8', 'model: {num_experts: 8, moe_router_num_groups: 3, moe_router_group_topk: 2}')),
  ).toMatchInlineSnapshot(`
    "error[router-groups] at "2"
    moe_router_num_groups 3 does not divide 8 experts. Use 1, 2 or 4.
    = Megatron-LM: num_moe_experts (8) should be divisible by moe_router_num_groups (3).
    = suggestion: Change moe_router_num_groups to 2
      - model: {num_experts: 8, moe_router_num_groups: 3, moe_router_group_topk: 2}
      + model: {num_experts: 8, moe_router_num_groups: 2, moe_router_group_topk: 2}
    = suggestion: Change moe_router_num_groups to 4
      - model: {num_experts: 8, moe_router_num_groups: 3, moe_router_group_topk: 2}
      + model: {num_experts: 8, moe_router_num_groups: 4, moe_router_group_topk: 2}
    = suggestion: Remove \`moe_router_group_topk\`
      - model: {num_experts: 8, moe_router_num_groups: 3, moe_router_group_topk: 2}
      + model: {num_experts: 8, moe_router_num_groups: 3}"
  `);
});

test('more groups than there are', () => {
  expect(
    said(job(8, 'ep: 8', 'model: {num_experts: 8, moe_router_num_groups: 4, moe_router_group_topk: 5}')),
  ).toMatchInlineSnapshot(`
    "error[router-groups] at "5"
    moe_router_group_topk 5 is above moe_router_num_groups 4. Use 4 or less.
    = Megatron-LM: moe_router_group_topk (5) should be smaller than moe_router_num_groups (4).
    = suggestion: Change moe_router_group_topk to 4
      - model: {num_experts: 8, moe_router_num_groups: 4, moe_router_group_topk: 5}
      + model: {num_experts: 8, moe_router_num_groups: 4, moe_router_group_topk: 4}
    = suggestion: Remove \`moe_router_group_topk\`
      - model: {num_experts: 8, moe_router_num_groups: 4, moe_router_group_topk: 5}
      + model: {num_experts: 8, moe_router_num_groups: 4}"
  `);
});
