import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { checkTable, job } from './rule-table';

const CODES = ['tp-crosses-nvlink', 'ep-crosses-node', 'cp-crosses-node', 'module-splits-node', 'name-disagrees'];
const NODES = (nodes: number, gpus: number) => `cluster: {nodes: ${nodes}, gpus_per_node: ${gpus}}`;

describe('rules on placement', () => {
  checkTable(CODES, [
    { title: 'no cluster, no places', text: job(16, 'tp: 16'), diagnostics: [] },
    {
      title: 'tp over two nodes',
      text: job(16, 'tp: 16', NODES(2, 8)),
      diagnostics: [['tp-crosses-nvlink', '16']],
    },
    {
      title: 'tp inside an NVLink domain of many nodes',
      text: job(16, 'tp: 16', 'cluster: {nodes: 4, gpus_per_node: 4, gpus_per_nvlink_domain: 72}'),
      diagnostics: [],
    },
    {
      title: 'tp that does not divide a node: some groups cross',
      text: job(18, 'tp: 6', NODES(2, 9)),
      diagnostics: [['tp-crosses-nvlink', '6']],
    },
    {
      title: 'an order that lays tp last',
      text: job(16, 'tp: 2, order: dp-cp-ep-pp-tp', NODES(2, 8)),
      diagnostics: [['tp-crosses-nvlink', '2']],
    },
    {
      title: 'tp fits, tp x gtp does not',
      text: job(16, 'tp: 4, gtp_remat: 4', NODES(2, 8), 'batch: {micro_batch_size: 1, global_batch_size: 64}'),
      diagnostics: [['tp-crosses-nvlink', '4']],
    },
    {
      title: 'the tensor parallelism of experts leaves the node',
      text: job(16, 'tp: 2, expt_tp: 16', NODES(2, 8)),
      diagnostics: [['tp-crosses-nvlink', '16']],
    },
    {
      title: 'experts over two nodes',
      text: job(16, 'ep: 16', NODES(2, 8)),
      diagnostics: [['ep-crosses-node', '16']],
    },
    {
      title: 'experts over the nodes of one NVLink domain',
      text: job(16, 'ep: 16', 'cluster: {nodes: 4, gpus_per_node: 4, gpus_per_nvlink_domain: 16}'),
      diagnostics: [],
    },
    {
      title: 'context over two nodes',
      text: job(32, 'tp: 2, cp: 8', NODES(4, 8)),
      diagnostics: [['cp-crosses-node', '8']],
    },
    {
      title: 'packed placement has no such grid',
      text: job(16, 'tp: 16', NODES(2, 8), 'ntp: {placement: packed}'),
      diagnostics: [],
    },
    {
      title: 'a module that begins askew',
      text: 'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nmodules:\n  images: {num_ranks: 4}\n  language: {rank_offset: 4, num_ranks: 12, tp: 8}\n',
      diagnostics: [['dense-factorization', '8', 'num_ranks (12) must be divisible by tp*gtp_remat*cp*pp (8)']],
    },
    {
      title: 'a module inside a node, whose tp groups cross for that',
      text: 'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nmodules:\n  images: {num_ranks: 4, tp: 4}\n  language: {rank_offset: 4, num_ranks: 12, tp: 6}\n',
      diagnostics: [
        ['module-splits-node', '4'],
        ['tp-crosses-nvlink', '6'],
      ],
    },
    {
      title: 'in one node modules share it anyway',
      text: 'layout: 1\ncluster: {nodes: 1, gpus_per_node: 8}\nmodules:\n  images: {num_ranks: 4}\n  language: {rank_offset: 4, num_ranks: 4}\n',
      diagnostics: [],
    },
    {
      title: 'a name that says another degree',
      text: job(16, 'tp: 2', 'name: llama_tp4_pp1-dp8'),
      diagnostics: [['name-disagrees', 'tp4']],
    },
    {
      title: 'degrees written one behind another, with quotes and capitals',
      text: job(16, 'tp: 2, pp: 2', 'name: "70b TP2PP4, http2 tp"'),
      diagnostics: [['name-disagrees', 'PP4']],
    },
    {
      title: 'a name that agrees with one of the modules',
      text: 'layout: 1\nname: vlm-tp4\nworld_size: 8\nmodules:\n  images: {num_ranks: 4}\n  language: {rank_offset: 4, num_ranks: 4, tp: 4}\n',
      diagnostics: [],
    },
  ]);

  test('the message counts the groups and names the first', () => {
    const [diagnostic] = check(job(18, 'tp: 6', NODES(2, 9))).diagnostics;
    expect(diagnostic?.message).toContain('1 of 3 TP groups reaches over more than one NVLink domain of 9 GPUs');
    expect(diagnostic?.message).toContain('group 1 has ranks from 6 to 11');
  });

  test('a million ranks are as quick to place as eight', () => {
    const diagnostics = check(job(2 ** 20, 'tp: 3, pp: 2', NODES(2 ** 17, 8)).replace(/^world.*\n/m, '')).diagnostics;
    expect(diagnostics.map(({ code }) => code)).toEqual(['dense-factorization']);
    const whole = check(job(3 * 2 ** 20, 'tp: 6', NODES(3 * 2 ** 17, 8))).diagnostics;
    expect(whole[0]?.message).toMatch(/^262,144 of 524,288 TP groups/);
  });

  test('where nodes and degrees have no common factor, the count is a lower bound', () => {
    const text = 'layout: 1\ncluster: {nodes: 8192, gpus_per_node: 8193}\nparallelism: {cp: 8192}\n';
    const diagnostic = check(text).diagnostics.find(({ code }) => code === 'cp-crosses-node');
    expect(diagnostic?.message).toMatch(
      /^At least [\d,]+ of 8,193 CP groups reach over more than one node of 8,193 GPUs/,
    );
  });
});
