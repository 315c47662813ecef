import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { tpCrossesNvlink } from './tp-crosses-nvlink';

const cluster = (nodes: number, gpus: number) => `cluster: {nodes: ${nodes}, gpus_per_node: ${gpus}}`;

test('tp-crosses-nvlink', () => {
  const said = reports(tpCrossesNvlink, {
    'no cluster, no places': job(16, 'tp: 16'),
    'an NVLink domain of many nodes': job(
      16,
      'tp: 16',
      'cluster: {nodes: 4, gpus_per_node: 4, gpus_per_nvlink_domain: 72}',
    ),
    'packed placement has no such grid': job(16, 'tp: 16', cluster(2, 8), 'ntp: {placement: packed}'),
    'tp over two nodes': job(16, 'tp: 16', cluster(2, 8)),
    'tp does not divide a node: some groups cross': job(18, 'tp: 6', cluster(2, 9)),
    'an order that lays tp last': job(16, 'tp: 2, order: dp-cp-ep-pp-tp', cluster(2, 8)),
    'tp fits and tp x gtp does not': job(
      16,
      'tp: 4, gtp_remat: 4',
      cluster(2, 8),
      'batch: {micro_batch_size: 1, global_batch_size: 64}',
    ),
    'the tensor parallelism of experts leaves the node': job(16, 'tp: 2, expt_tp: 16', cluster(2, 8)),
    'a module begins inside a node': `layout: 1\n${cluster(2, 8)}\nmodules:\n  images: {num_ranks: 4, tp: 4}\n  language: {rank_offset: 4, num_ranks: 12, tp: 6}\n`,
    'a layout with an error is not placed': `layout: 1\n${cluster(2, 8)}\nmodules:\n  images: {num_ranks: 4}\n  language: {rank_offset: 4, num_ranks: 12, tp: 8}\n`,
    'millions of ranks are placed without listing them': job(3 * 2 ** 20, 'tp: 6', cluster(3 * 2 ** 17, 8)),
  });
  expect(said).toMatchInlineSnapshot(`
    "tp over two nodes: warning at "16": The TP group spans more than one NVLink domain of 8 GPUs: it reaches from rank 0 to 15. Use tp 8 to keep each group in one domain.
      = at "8": an NVLink domain has 8 GPUs
      = suggestion: Change tp to 8: parallelism: {tp: [-16-]{+8+}}
    tp does not divide a node: some groups cross: warning at "6": 1 of 3 TP groups spans more than one NVLink domain of 9 GPUs: group 1 reaches from rank 6 to 11. Use tp 3 to keep each group in one domain.
      = at "9": an NVLink domain has 9 GPUs
      = suggestion: Change tp to 3: parallelism: {tp: [-6-]{+3+}}
    an order that lays tp last: warning at "2": All 8 TP groups span more than one NVLink domain of 8 GPUs: the first, group 0, reaches from rank 0 to 8. Keep each group in one domain.
      = at "8": an NVLink domain has 8 GPUs
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-dp-cp-ep-pp-tp-]{+tp-cp-ep-dp-pp+}}
    tp fits and tp x gtp does not: warning at "4": The TP x GTP group spans more than one NVLink domain of 8 GPUs: it reaches from rank 0 to 15. Keep each group in one domain.
      = at "8": an NVLink domain has 8 GPUs
    the tensor parallelism of experts leaves the node: warning at "16": The expert TP group spans more than one NVLink domain of 8 GPUs: it reaches from rank 0 to 15. Keep each group in one domain.
      = at "8": an NVLink domain has 8 GPUs
    a module begins inside a node: warning at "6": 1 of 2 TP groups spans more than one NVLink domain of 8 GPUs: group 0 reaches from rank 4 to 9. Use tp 2 to keep each group in one domain.
      = at "8": an NVLink domain has 8 GPUs
      = at "4": 'language' begins here
      = suggestion: Change tp to 2: language: {rank_offset: 4, num_ranks: 12, tp: [-6-]{+2+}}
    a layout with an error is not placed: error[dense-factorization] at "8": tp 8 does not divide 12 ranks. Use tp 4, 6 or 12.
      = Megatron-LM: num_ranks (12) must be divisible by tp*gtp_remat*cp*pp (8)
      = at "12": num_ranks is 12 here
      = suggestion: Change tp to 6: language: {rank_offset: 4, num_ranks: 12, tp: [-8-]{+6+}}
      = suggestion: Change tp to 4: language: {rank_offset: 4, num_ranks: 12, tp: [-8-]{+4+}}
      = suggestion: Change tp to 12: language: {rank_offset: 4, num_ranks: 12, tp: [-8-]{+12+}}
    millions of ranks are placed without listing them: warning at "6": 262,144 of 524,288 TP groups span more than one NVLink domain of 8 GPUs: the first, group 1, reaches from rank 6 to 11. Use tp 2 to keep each group in one domain.
      = at "8": an NVLink domain has 8 GPUs
      = suggestion: Change tp to 2: parallelism: {tp: [-6-]{+2+}}"
  `);
});
