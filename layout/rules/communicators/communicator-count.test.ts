import { expect, test } from 'vitest';
import { check } from '../../check';
import { countCommunicators } from '../../topology/communicators';
import { processGroups } from '../../topology/process-groups';
import { job, report } from '../testing';
import { communicatorCount } from './communicator-count';

const said = (text: string) => report(communicatorCount, text);
const GROUP = 'fsdp: {enabled: true, create_all_gather_group: true}';
const BATCH = 'batch: {micro_batch_size: 1, global_batch_size: 1024}';

test.each([
  ['no separate group', job(16, 'tp: 2', 'fsdp: {enabled: true}')],
  ['FSDP is off', job(16, 'tp: 2', 'fsdp: {enabled: false, create_all_gather_group: true}')],
  ['modules make no such groups', `layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2}\n${GROUP}\n`],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('every group of two ranks or more counts once by its name', () => {
  // dp_cp, dp, mp, tp, tp_dp_cp, tp_dp, tp_cp; ep_tp, tp_ep_mp, tp_ep_pp, tp_ep_gtp_remat_pp, ep_dp; the optimizer's; dp_cp_ag
  expect(said(job(16, 'tp: 2', GROUP))).toMatchInlineSnapshot(`
    "information[communicator-count] at "parallelism"
    Each rank holds 14 communicators. \`dp_cp_ag\` only serves to overlap all-gather with reduce-scatter.
    = at "fsdp": fsdp asks for all-gather groups here"
  `);
});

test('the ends of a pipeline also hold the embedding group', () => {
  expect(said(job(16, 'tp: 2, pp: 4', GROUP))).toMatchInlineSnapshot(`
    "information[communicator-count] at "parallelism"
    Each rank holds 15 communicators, 16 at the two ends of the pipeline. \`dp_cp_ag\` only serves to overlap all-gather with reduce-scatter.
    = at "fsdp": fsdp asks for all-gather groups here"
  `);
});

test('with two stages every stage is an end', () => {
  expect(said(job(16, 'tp: 2, pp: 2', GROUP))).toMatchInlineSnapshot(`
    "information[communicator-count] at "parallelism"
    Each rank holds 16 communicators. \`dp_cp_ag\` only serves to overlap all-gather with reduce-scatter.
    = at "fsdp": fsdp asks for all-gather groups here"
  `);
});

test('context-parallel ranks gather too', () => {
  expect(said(job(8, 'tp: 4, cp: 2', GROUP))).toMatchInlineSnapshot(`
    "information[communicator-count] at "parallelism"
    Each rank holds 14 communicators. \`dp_cp_ag\` only serves to overlap all-gather with reduce-scatter.
    = at "fsdp": fsdp asks for all-gather groups here"
  `);
});

test('experts have a group of their own', () => {
  expect(said(job(16, 'tp: 2, ep: 2', GROUP))).toMatchInlineSnapshot(`
    "information[communicator-count] at "parallelism"
    Each rank holds 16 communicators. \`dp_cp_ag\` and \`expt_dp_ag\` only serve to overlap all-gather with reduce-scatter.
    = at "fsdp": fsdp asks for all-gather groups here"
  `);
});

test('an order that changes neither group', () => {
  expect(said(job(16, 'tp: 2, pp: 2, order: tp-dp-cp-ep-pp', GROUP))).toMatchInlineSnapshot(`
    "information[communicator-count] at "parallelism"
    Each rank holds 16 communicators. \`dp_cp_ag\` only serves to overlap all-gather with reduce-scatter.
    = at "fsdp": fsdp asks for all-gather groups here"
  `);
});

test('generalized TP of experts, whose group is not asked for', () => {
  const fsdp = 'fsdp: {enabled: true, create_all_gather_group: true, create_expert_all_gather_group: false}';
  expect(said(job(16, 'ep: 4, expt_gtp_remat: 2', BATCH, fsdp))).toMatchInlineSnapshot(`
    "information[communicator-count] at "parallelism"
    Each rank holds 13 communicators. \`dp_cp_ag\` only serves to overlap all-gather with reduce-scatter.
    = at "fsdp": fsdp asks for all-gather groups here"
  `);
});

test.each([
  'tp: 2',
  'tp: 2, pp: 2',
  'tp: 2, pp: 4, ep: 2',
  'cp: 4, pp: 4, hierarchical_context_parallel_sizes: [2, 1, 2]',
  'cp: 2, ep: 4, num_distributed_optimizer_instances: 2',
  'tp: 2, gtp_remat: 2, expt_gtp_remat: 2, pp: 4',
])('%s: as many as the groups that hold a rank', (degrees) => {
  const layout = check(job(32, degrees)).resolved;
  const families = layout ? processGroups(layout) : [];
  const held = Array.from({ length: 32 }, (_, rank) =>
    families.flatMap((family) => family.indicesOf(rank).filter((index) => family.ranks(index).length > 1)),
  ).map(({ length }) => length);
  const counted = layout && countCommunicators(layout);
  expect(counted?.each).toBe(Math.min(...held));
  expect((counted?.each ?? 0) + (counted?.atEnds ?? 0)).toBe(Math.max(...held));
});
