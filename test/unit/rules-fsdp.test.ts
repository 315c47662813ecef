import { describe, expect, test } from 'vitest';
import { check, processGroups } from '../../layout';
import { countCommunicators } from '../../layout/topology/communicators';
import { checkTable, job } from './rule-table';

const GROUP = 'fsdp: {enabled: true, create_all_gather_group: true}';
const BATCH = 'batch: {micro_batch_size: 1, global_batch_size: 1024}';

describe('rules on FSDP', () => {
  checkTable(
    ['fsdp-not-enabled', 'fsdp-expert-group', 'fsdp-group-idle', 'all-gather-groups', 'communicator-count'],
    [
      { title: 'no fsdp', text: job(16, 'tp: 2'), diagnostics: [] },
      { title: 'fsdp alone', text: job(16, 'tp: 2', 'fsdp: {enabled: true}'), diagnostics: [] },
      {
        title: 'a group while fsdp is off',
        text: job(16, 'tp: 2', 'fsdp: {create_all_gather_group: yes_}').replace('yes_', 'true'),
        diagnostics: [['fsdp-not-enabled', 'true']],
      },
      {
        title: 'a strategy while fsdp is off',
        text: job(16, 'tp: 2', 'fsdp: {enabled: false, data_parallel_sharding_strategy: optim}'),
        diagnostics: [['fsdp-not-enabled', 'optim']],
      },
      {
        title: 'no_shard while fsdp is off says what is so',
        text: job(16, 'tp: 2', 'fsdp: {enabled: false, data_parallel_sharding_strategy: no_shard}'),
        diagnostics: [],
      },
      {
        title: 'an unusable enabled has one diagnostic',
        text: job(16, 'tp: 2', 'fsdp: {enabled: maybe, create_all_gather_group: true}'),
        diagnostics: [['wrong-type', 'maybe']],
      },
      {
        title: 'an expert group without experts',
        text: job(16, 'tp: 2', 'fsdp: {enabled: true, create_expert_all_gather_group: true}'),
        diagnostics: [['fsdp-expert-group', 'true']],
      },
      {
        title: 'one replica has nothing to gather',
        text: job(8, 'tp: 4, pp: 2', GROUP),
        diagnostics: [['fsdp-group-idle', 'true']],
      },
      {
        title: 'context-parallel ranks gather too',
        text: job(8, 'tp: 4, cp: 2', GROUP),
        diagnostics: [['communicator-count', 'parallelism']],
      },
      {
        title: 'whole parameters on every rank',
        text: job(
          16,
          'tp: 2',
          'fsdp: {enabled: true, create_all_gather_group: true, data_parallel_sharding_strategy: no_shard}',
        ),
        diagnostics: [['fsdp-group-idle', 'true']],
      },
      {
        title: 'generalized TP counted twice: torch refuses the first rank outside',
        text: job(16, 'tp: 2, pp: 2, gtp_remat: 2', BATCH, GROUP),
        diagnostics: [
          ['all-gather-groups', 'true', 'Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)'],
        ],
      },
      {
        title: 'generalized TP of experts, whose groups are asked for',
        text: job(16, 'expt_tp: 1, ep: 4, expt_gtp_remat: 2', BATCH, GROUP),
        diagnostics: [
          ['all-gather-groups', 'true', 'Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)'],
        ],
      },
      {
        title: 'generalized TP of experts, whose groups are not',
        text: job(
          16,
          'ep: 4, expt_gtp_remat: 2',
          BATCH,
          'fsdp: {enabled: true, create_all_gather_group: true, create_expert_all_gather_group: false}',
        ),
        diagnostics: [['communicator-count', 'parallelism']],
      },
      {
        title: 'an order under which dp_cp has other ranks',
        text: job(16, 'tp: 2, pp: 2, order: tp-cp-ep-pp-dp', GROUP),
        diagnostics: [['all-gather-groups', 'true']],
      },
      {
        title: 'an order under which only ep_dp has',
        text: job(16, 'tp: 2, ep: 4, expt_tp: 1, order: tp-cp-dp-ep-pp', GROUP),
        diagnostics: [['all-gather-groups', 'true']],
      },
      {
        title: 'an order that changes neither',
        text: job(16, 'tp: 2, pp: 2, order: tp-dp-cp-ep-pp', GROUP),
        diagnostics: [['communicator-count', 'parallelism']],
      },
      {
        title: 'modules make no such groups',
        text: `layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2}\n${GROUP}\n`,
        diagnostics: [],
      },
    ],
  );
});

describe('communicators of a rank', () => {
  test.each([
    'tp: 2',
    'tp: 2, pp: 2',
    'tp: 2, pp: 4, ep: 2',
    'cp: 4, pp: 4, hierarchical_context_parallel_sizes: [2, 1, 2]',
    'cp: 2, ep: 4, num_distributed_optimizer_instances: 2',
    'tp: 2, gtp_remat: 2, expt_gtp_remat: 2, pp: 4',
  ])('%s: as many as the groups that hold it', (degrees) => {
    const layout = check(job(32, degrees)).resolved;
    const families = layout ? processGroups(layout) : [];
    const held = Array.from({ length: 32 }, (_, rank) =>
      families.flatMap((family) => family.indicesOf(rank).filter((index) => family.ranks(index).length > 1)),
    ).map(({ length }) => length);
    const counted = layout && countCommunicators(layout);
    expect(counted?.each).toBe(Math.min(...held));
    expect((counted?.each ?? 0) + (counted?.atEnds ?? 0)).toBe(Math.max(...held));
  });

  const count = (text: string) =>
    check(text)
      .diagnostics.find(({ code }) => code === 'communicator-count')
      ?.message.match(/\d+/g);

  test('every group of two ranks or more counts once by its name', () => {
    // dp_cp, dp, mp, tp, tp_dp_cp, tp_dp, tp_cp; ep_tp, tp_ep_mp, tp_ep_pp, tp_ep_gtp_remat_pp, ep_dp; the optimizer's; dp_cp_ag
    expect(count(job(16, 'tp: 2', GROUP))).toEqual(['14']);
  });

  test('the ends of a pipeline hold the embedding group too', () => {
    // pp and embd come in
    expect(count(job(16, 'tp: 2, pp: 4', GROUP))).toEqual(['15', '16']);
    expect(count(job(16, 'tp: 2, pp: 2', GROUP))).toEqual(['16']);
  });
});
