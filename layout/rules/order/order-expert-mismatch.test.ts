import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { orderExpertMismatch } from './order-expert-mismatch';

test('order-expert-mismatch', () => {
  const said = reports(orderExpertMismatch, {
    'equal dp, and the same pipelines': job(8, 'tp: 2, pp: 2, order: tp-cp-pp-ep-dp'),
    'one stage lies anywhere': job(16, 'tp: 2, ep: 4, order: pp-tp-cp-ep-dp'),
    'dp and expt_dp differ under an order that does not end in pp': job(
      16,
      'tp: 2, pp: 2, ep: 2, order: tp-cp-ep-pp-dp',
    ),
    'PP does not end in pp': job(16, 'tp: 2, pp: 2, ep: 2, order: TP-CP-EP-DP-PP'),
    'equal dp, yet other pipelines': job(8, 'tp: 2, pp: 2, ep: 2, expt_tp: 1, order: tp-cp-pp-ep-dp'),
    'the groups of a large world are not spelt out': job(
      8192,
      'tp: 2, pp: 2, ep: 2, expt_tp: 1, order: tp-cp-pp-ep-dp',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "dp and expt_dp differ under an order that does not end in pp: error at "tp-cp-ep-pp-dp": dp is 4 and expt_dp 2, which needs an order that ends in pp. Write tp-cp-ep-dp-pp.
      = Megatron-LM: When not using pp-last rank ordering, the data parallel size of the attention and moe layers must be the same
      = at "2": ep is 2 here
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, pp: 2, ep: 2, order: [-tp-cp-ep-pp-dp-]{+tp-cp-ep-dp-pp+}}
    PP does not end in pp: error at "TP-CP-EP-DP-PP": dp is 4 and expt_dp 2, which needs an order that ends in pp. Write tp-cp-ep-dp-pp.
      = Megatron-LM: When not using pp-last rank ordering, the data parallel size of the attention and moe layers must be the same
      = at "2": ep is 2 here
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, pp: 2, ep: 2, order: [-TP-CP-EP-DP-PP-]{+tp-cp-ep-dp-pp+}}
    equal dp, yet other pipelines: error at "tp-cp-pp-ep-dp": In this order pipelines of dense layers join ranks 2 apart, those of experts ranks 1 apart. Write tp-cp-ep-dp-pp.
      = Megatron-LM: Pipeline parallel groups are expected to be the same for Non-Expert and Expert part,     but got [[0, 2], [1, 3], [4, 6], [5, 7]] and [[0, 1], [2, 3], [4, 5], [6, 7]]
      = at "2": ep is 2 here
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, pp: 2, ep: 2, expt_tp: 1, order: [-tp-cp-pp-ep-dp-]{+tp-cp-ep-dp-pp+}}
    the groups of a large world are not spelt out: error at "tp-cp-pp-ep-dp": In this order pipelines of dense layers join ranks 2 apart, those of experts ranks 1 apart. Write tp-cp-ep-dp-pp.
      = at "2": ep is 2 here
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, pp: 2, ep: 2, expt_tp: 1, order: [-tp-cp-pp-ep-dp-]{+tp-cp-ep-dp-pp+}}"
  `);
});
