import { expect, test } from 'vitest';
import { check } from '../../check';
import { countCommunicators } from '../../topology/communicators';
import { processGroups } from '../../topology/processGroups';
import { job, reports } from '../testing';
import { communicatorCount } from './communicator-count';

const GROUP = 'fsdp: {enabled: true, create_all_gather_group: true}';
const BATCH = 'batch: {micro_batch_size: 1, global_batch_size: 1024}';

test('communicator-count', () => {
  const said = reports(communicatorCount, {
    'no separate group': job(16, 'tp: 2', 'fsdp: {enabled: true}'),
    'FSDP is off': job(16, 'tp: 2', 'fsdp: {enabled: false, create_all_gather_group: true}'),
    'modules make no such groups': `layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2}\n${GROUP}\n`,
    'every group of two ranks or more counts once by its name': job(16, 'tp: 2', GROUP),
    'a described model without experts uses no group of theirs': job(
      16,
      'tp: 2',
      'model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8}',
      GROUP,
    ),
    'the ends of a pipeline also hold the embedding group': job(16, 'tp: 2, pp: 4', GROUP),
    'with two stages every stage is an end': job(16, 'tp: 2, pp: 2', GROUP),
    'context-parallel ranks gather too': job(8, 'tp: 4, cp: 2', GROUP),
    'experts have a group of their own': job(16, 'tp: 2, ep: 2', GROUP),
    'an order that changes neither group': job(16, 'tp: 2, pp: 2, order: tp-dp-cp-ep-pp', GROUP),
    'generalized TP of experts, whose group is not asked for': job(
      16,
      'ep: 4, expt_gtp_remat: 2',
      BATCH,
      'fsdp: {enabled: true, create_all_gather_group: true, create_expert_all_gather_group: false}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "every group of two ranks or more counts once by its name: information at "parallelism": Each rank holds 14 communicators. dp_cp_ag only serves to overlap all-gather with reduce-scatter.
      = at "fsdp": fsdp asks for all-gather groups here
    a described model without experts uses no group of theirs: information at "parallelism": Each rank holds 9 communicators. dp_cp_ag only serves to overlap all-gather with reduce-scatter.
      = at "fsdp": fsdp asks for all-gather groups here
    the ends of a pipeline also hold the embedding group: information at "parallelism": Each rank holds 15 communicators, 16 at the two ends of the pipeline. dp_cp_ag only serves to overlap all-gather with reduce-scatter.
      = at "fsdp": fsdp asks for all-gather groups here
    with two stages every stage is an end: information at "parallelism": Each rank holds 16 communicators. dp_cp_ag only serves to overlap all-gather with reduce-scatter.
      = at "fsdp": fsdp asks for all-gather groups here
    context-parallel ranks gather too: information at "parallelism": Each rank holds 14 communicators. dp_cp_ag only serves to overlap all-gather with reduce-scatter.
      = at "fsdp": fsdp asks for all-gather groups here
    experts have a group of their own: information at "parallelism": Each rank holds 16 communicators. dp_cp_ag and expt_dp_ag only serve to overlap all-gather with reduce-scatter.
      = at "fsdp": fsdp asks for all-gather groups here
    an order that changes neither group: information at "parallelism": Each rank holds 16 communicators. dp_cp_ag only serves to overlap all-gather with reduce-scatter.
      = at "fsdp": fsdp asks for all-gather groups here
    generalized TP of experts, whose group is not asked for: information at "parallelism": Each rank holds 13 communicators. dp_cp_ag only serves to overlap all-gather with reduce-scatter.
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
  const counted = layout && countCommunicators(layout, true);
  expect(counted?.each).toBe(Math.min(...held));
  expect((counted?.each ?? 0) + (counted?.atEnds ?? 0)).toBe(Math.max(...held));
});
