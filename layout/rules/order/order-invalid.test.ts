import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { orderInvalid } from './order-invalid';

test('order-invalid', () => {
  const said = reports(orderInvalid, {
    'dims of size 1 may be left out': job(8, 'tp: 2, pp: 2, order: tp-dp-pp'),
    'capitals are read': job(8, 'tp: 2, pp: 2, order: TP-CP-EP-DP-PP'),
    'gtp_remat may stand in it': job(8, 'tp: 2, order: gtp_remat-tp-dp'),
    'a word that is no dimension': job(8, 'tp: 2, order: tp-cp-ep-dp-pp-xx'),
    'a word too many, and one too few: Megatron-LM says the latter': job(8, 'tp: 2, order: tp-pd-pp'),
    'an empty order': job(8, 'tp: 2, order: ""'),
    'a word twice': job(8, 'tp: 2, order: tp-dp-tp-pp'),
    'gtp_remat in capitals, beside the one that is put in': job(8, 'tp: 2, order: TP-GTP_REMAT-DP'),
    'tp left out, which is looked for in gtp_remat and found': job(8, 'tp: 2, order: cp-dp-pp'),
    'tp of size 1 must be named too': job(8, 'order: cp-dp-pp'),
    'the dense grid comes first': job(16, 'tp: 2, cp: 2, ep: 2, order: tp-dp-pp'),
    'also where the expert grid does not divide': job(16, 'tp: 2, cp: 2, ep: 3, order: tp-dp-pp'),
    'ep left out': job(16, 'tp: 2, ep: 4, order: tp-cp-dp-pp'),
    'ep left out, and pp in front': job(16, 'tp: 2, pp: 2, ep: 4, order: pp-tp-dp'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a word that is no dimension: error at "tp-cp-ep-dp-pp-xx": 'xx' in the order is no dimension. Use tp, cp, ep, dp, pp or gtp_remat.
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-tp-cp-ep-dp-pp-xx-]{+tp-cp-ep-dp-pp+}}
    a word too many, and one too few: Megatron-LM says the latter: error at "tp-pd-pp": 'pd' in the order is no dimension. Use tp, cp, ep, dp, pp or gtp_remat.
      = Megatron-LM: The size of (dp) is (4), but you haven'tspecified the order (tp-gtp_remat-pd-pp).
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-tp-pd-pp-]{+tp-cp-ep-dp-pp+}}
    an empty order: error at "\\"\\"": An empty word in the order is no dimension. Use tp, cp, ep, dp, pp or gtp_remat.
      = Megatron-LM: The size of (dp) is (4), but you haven'tspecified the order (gtp_remat-).
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-""-]{+tp-cp-ep-dp-pp+}}
    a word twice: error at "tp-dp-tp-pp": The order names tp twice. Name each dimension once.
      = suggestion: Change order to tp-dp-pp: parallelism: {tp: 2, order: [-tp-dp-tp-pp-]{+tp-dp-pp+}}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-tp-dp-tp-pp-]{+tp-cp-ep-dp-pp+}}
    gtp_remat in capitals, beside the one that is put in: error at "TP-GTP_REMAT-DP": The order names gtp_remat twice. Name each dimension once.
      = suggestion: Change order to tp-gtp_remat-dp: parallelism: {tp: 2, order: [-TP-GTP_REMAT-DP-]{+tp-gtp_remat-dp+}}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-TP-GTP_REMAT-DP-]{+tp-cp-ep-dp-pp+}}
    tp left out, which is looked for in gtp_remat and found: error at "cp-dp-pp": The order leaves out tp, which is 2. Write tp-cp-dp-pp.
      = Megatron-LM: idx 4 with shape [1, 1, 4, 1] mismatch the return idx [0, 0, 0, 0]
      = suggestion: Change order to tp-cp-dp-pp: parallelism: {tp: 2, order: [-cp-dp-pp-]{+tp-cp-dp-pp+}}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, order: [-cp-dp-pp-]{+tp-cp-ep-dp-pp+}}
    tp of size 1 must be named too: error at "cp-dp-pp": The order leaves out tp, which must be named even where it is 1. Write tp-cp-dp-pp.
      = suggestion: Change order to tp-cp-dp-pp: parallelism: {order: [-cp-dp-pp-]{+tp-cp-dp-pp+}}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {order: [-cp-dp-pp-]{+tp-cp-ep-dp-pp+}}
    the dense grid comes first: error at "tp-dp-pp": The order leaves out cp, which is 2. Write tp-dp-cp-ep-pp.
      = Megatron-LM: The size of (cp) is (2), but you haven'tspecified the order (tp-gtp_remat-dp-pp).
      = suggestion: Change order to tp-dp-cp-ep-pp: parallelism: {tp: 2, cp: 2, ep: 2, order: [-tp-dp-pp-]{+tp-dp-cp-ep-pp+}}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, cp: 2, ep: 2, order: [-tp-dp-pp-]{+tp-cp-ep-dp-pp+}}
    also where the expert grid does not divide: error[expert-factorization] at "3": expt_tp 2 x ep 3 = 6 ranks an expert replica, which does not divide 16. Use ep 1, 2 or 4.
      = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (6)
      = at "16": world_size is 16 here
      = at "2": expt_tp defaults to tp, which is 2 here
      = suggestion: Change ep to 2: parallelism: {tp: 2, cp: 2, ep: [-3-]{+2+}, order: tp-dp-pp}
      = suggestion: Change ep to 4: parallelism: {tp: 2, cp: 2, ep: [-3-]{+4+}, order: tp-dp-pp}
      = suggestion: Change ep to 1: parallelism: {tp: 2, cp: 2, ep: [-3-]{+1+}, order: tp-dp-pp}
      = suggestion: Change world_size to 12: world_size: [-16-]{+12+}
      error at "tp-dp-pp": The order leaves out cp, which is 2. Write tp-dp-cp-pp.
      = Megatron-LM: The size of (cp) is (2), but you haven'tspecified the order (tp-gtp_remat-dp-pp).
      = suggestion: Change order to tp-dp-cp-pp: parallelism: {tp: 2, cp: 2, ep: 3, order: [-tp-dp-pp-]{+tp-dp-cp-pp+}}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, cp: 2, ep: 3, order: [-tp-dp-pp-]{+tp-cp-ep-dp-pp+}}
    ep left out: error at "tp-cp-dp-pp": The order leaves out ep, which is 4. Write tp-cp-dp-ep-pp.
      = Megatron-LM: The size of (ep) is (4), but you haven'tspecified the order (tp-gtp_remat-cp-dp-pp).
      = suggestion: Change order to tp-cp-dp-ep-pp: parallelism: {tp: 2, ep: 4, order: [-tp-cp-dp-pp-]{+tp-cp-dp-ep-pp+}}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, ep: 4, order: [-tp-cp-dp-pp-]{+tp-cp-ep-dp-pp+}}
    ep left out, and pp in front: error at "pp-tp-dp": The order leaves out ep, which is 4. Write tp-dp-ep-pp.
      = Megatron-LM: The size of (ep) is (4), but you haven'tspecified the order (pp-tp-gtp_remat-dp).
      = suggestion: Change order to tp-dp-ep-pp: parallelism: {tp: 2, pp: 2, ep: 4, order: [-pp-tp-dp-]{+tp-dp-ep-pp+}}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, pp: 2, ep: 4, order: [-pp-tp-dp-]{+tp-cp-ep-dp-pp+}}"
  `);
});
