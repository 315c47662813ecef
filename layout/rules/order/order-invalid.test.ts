import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { orderInvalid } from './order-invalid';

const said = (text: string) => report(orderInvalid, text);

test.each([
  ['dims of size 1 may be left out', job(8, 'tp: 2, pp: 2, order: tp-dp-pp')],
  ['capitals are read', job(8, 'tp: 2, pp: 2, order: TP-CP-EP-DP-PP')],
  ['gtp_remat may stand in it', job(8, 'tp: 2, order: gtp_remat-tp-dp')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('a word that is no dimension', () => {
  expect(said(job(8, 'tp: 2, order: tp-cp-ep-dp-pp-xx'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "tp-cp-ep-dp-pp-xx"
    \`xx\` in the order is no dimension. Use tp, cp, ep, dp, pp or gtp_remat.
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, order: tp-cp-ep-dp-pp-xx}
      + parallelism: {tp: 2, order: tp-cp-ep-dp-pp}"
  `);
});

test('a word too many, and one too few: Megatron-LM says the latter', () => {
  expect(said(job(8, 'tp: 2, order: tp-pd-pp'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "tp-pd-pp"
    \`pd\` in the order is no dimension. Use tp, cp, ep, dp, pp or gtp_remat.
    = Megatron-LM: The size of (dp) is (4), but you haven'tspecified the order (tp-gtp_remat-pd-pp).
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, order: tp-pd-pp}
      + parallelism: {tp: 2, order: tp-cp-ep-dp-pp}"
  `);
});

test('an empty order', () => {
  expect(said(job(8, 'tp: 2, order: ""'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "\\"\\""
    An empty word in the order is no dimension. Use tp, cp, ep, dp, pp or gtp_remat.
    = Megatron-LM: The size of (dp) is (4), but you haven'tspecified the order (gtp_remat-).
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, order: ""}
      + parallelism: {tp: 2, order: tp-cp-ep-dp-pp}"
  `);
});

test('a word twice', () => {
  expect(said(job(8, 'tp: 2, order: tp-dp-tp-pp'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "tp-dp-tp-pp"
    The order names \`tp\` twice. Name each dimension once.
    = suggestion: Change order to tp-dp-pp
      - parallelism: {tp: 2, order: tp-dp-tp-pp}
      + parallelism: {tp: 2, order: tp-dp-pp}
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, order: tp-dp-tp-pp}
      + parallelism: {tp: 2, order: tp-cp-ep-dp-pp}"
  `);
});

test('gtp_remat in capitals, beside the one that is put in', () => {
  expect(said(job(8, 'tp: 2, order: TP-GTP_REMAT-DP'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "TP-GTP_REMAT-DP"
    The order names \`gtp_remat\` twice. Name each dimension once.
    = suggestion: Change order to tp-gtp_remat-dp
      - parallelism: {tp: 2, order: TP-GTP_REMAT-DP}
      + parallelism: {tp: 2, order: tp-gtp_remat-dp}
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, order: TP-GTP_REMAT-DP}
      + parallelism: {tp: 2, order: tp-cp-ep-dp-pp}"
  `);
});

test('tp left out, which is looked for in gtp_remat and found', () => {
  expect(said(job(8, 'tp: 2, order: cp-dp-pp'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "cp-dp-pp"
    The order leaves out \`tp\`, which is 2. Write \`tp-cp-dp-pp\`.
    = suggestion: Change order to tp-cp-dp-pp
      - parallelism: {tp: 2, order: cp-dp-pp}
      + parallelism: {tp: 2, order: tp-cp-dp-pp}
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, order: cp-dp-pp}
      + parallelism: {tp: 2, order: tp-cp-ep-dp-pp}"
  `);
});

test('tp of size 1 must be named too', () => {
  expect(said(job(8, 'order: cp-dp-pp'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "cp-dp-pp"
    The order leaves out \`tp\`, which must be named even where it is 1. Write \`tp-cp-dp-pp\`.
    = suggestion: Change order to tp-cp-dp-pp
      - parallelism: {order: cp-dp-pp}
      + parallelism: {order: tp-cp-dp-pp}
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {order: cp-dp-pp}
      + parallelism: {order: tp-cp-ep-dp-pp}"
  `);
});

test('the dense grid comes first', () => {
  expect(said(job(16, 'tp: 2, cp: 2, ep: 2, order: tp-dp-pp'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "tp-dp-pp"
    The order leaves out \`cp\`, which is 2. Write \`tp-dp-cp-pp\`.
    = Megatron-LM: The size of (cp) is (2), but you haven'tspecified the order (tp-gtp_remat-dp-pp).
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, cp: 2, ep: 2, order: tp-dp-pp}
      + parallelism: {tp: 2, cp: 2, ep: 2, order: tp-cp-ep-dp-pp}"
  `);
});

test('also where the expert grid does not divide', () => {
  expect(said(job(16, 'tp: 2, cp: 2, ep: 3, order: tp-dp-pp'))).toMatchInlineSnapshot(`
    "error[expert-factorization] at "3"
    expt_tp 2 x ep 3 = 6 ranks an expert replica, which does not divide 16. Use ep 1, 2 or 4.
    = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (6)
    = at "16": world_size is 16 here
    = at "2": expt_tp defaults to tp, which is 2 here
    = suggestion: Change ep to 2
      - parallelism: {tp: 2, cp: 2, ep: 3, order: tp-dp-pp}
      + parallelism: {tp: 2, cp: 2, ep: 2, order: tp-dp-pp}
    = suggestion: Change ep to 4
      - parallelism: {tp: 2, cp: 2, ep: 3, order: tp-dp-pp}
      + parallelism: {tp: 2, cp: 2, ep: 4, order: tp-dp-pp}
    = suggestion: Change ep to 1
      - parallelism: {tp: 2, cp: 2, ep: 3, order: tp-dp-pp}
      + parallelism: {tp: 2, cp: 2, ep: 1, order: tp-dp-pp}
    = suggestion: Change world_size to 12
      - world_size: 16
      + world_size: 12
    error[order-invalid] at "tp-dp-pp"
    The order leaves out \`cp\`, which is 2. Write \`tp-dp-cp-pp\`.
    = Megatron-LM: The size of (cp) is (2), but you haven'tspecified the order (tp-gtp_remat-dp-pp).
    = suggestion: Change order to tp-dp-cp-pp
      - parallelism: {tp: 2, cp: 2, ep: 3, order: tp-dp-pp}
      + parallelism: {tp: 2, cp: 2, ep: 3, order: tp-dp-cp-pp}
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, cp: 2, ep: 3, order: tp-dp-pp}
      + parallelism: {tp: 2, cp: 2, ep: 3, order: tp-cp-ep-dp-pp}"
  `);
});

test('ep left out', () => {
  expect(said(job(16, 'tp: 2, ep: 4, order: tp-cp-dp-pp'))).toMatchInlineSnapshot(`
    "error[order-invalid] at "tp-cp-dp-pp"
    The order leaves out \`ep\`, which is 4. Write \`tp-cp-dp-ep-pp\`.
    = Megatron-LM: The size of (ep) is (4), but you haven'tspecified the order (tp-gtp_remat-cp-dp-pp).
    = suggestion: Change order to tp-cp-dp-ep-pp
      - parallelism: {tp: 2, ep: 4, order: tp-cp-dp-pp}
      + parallelism: {tp: 2, ep: 4, order: tp-cp-dp-ep-pp}
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, ep: 4, order: tp-cp-dp-pp}
      + parallelism: {tp: 2, ep: 4, order: tp-cp-ep-dp-pp}"
  `);
});
