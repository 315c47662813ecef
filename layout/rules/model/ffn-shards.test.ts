import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { ffnShards } from './ffn-shards';

test('ffn-shards', () => {
  const said = reports(ffnShards, {
    'tp divides the width': job(16, 'tp: 8', 'model: {ffn_hidden_size: 1856}'),
    'expt_tp divides the width of an expert': job(16, 'tp: 8, expt_tp: 1', 'model: {moe_ffn_hidden_size: 1860}'),
    'tp does not divide the width': job(16, 'tp: 8', 'model: {ffn_hidden_size: 1860}'),
    'expt_tp defaults to tp': job(16, 'tp: 8', 'model: {moe_ffn_hidden_size: 1860}'),
    'a written expt_tp does not divide the width of an expert': job(
      16,
      'tp: 8, expt_tp: 8',
      'model: {moe_ffn_hidden_size: 1860}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "tp does not divide the width: warning at "1860": tp 8 does not divide ffn_hidden_size 1860. Use ffn_hidden_size 1856 or 1864.
      = at "8": tp is 8 here
      = suggestion: Change ffn_hidden_size to 1856: model: {ffn_hidden_size: [-1860-]{+1856+}}
      = suggestion: Change ffn_hidden_size to 1864: model: {ffn_hidden_size: [-1860-]{+1864+}}
    expt_tp defaults to tp: warning at "1860": expt_tp 8 does not divide moe_ffn_hidden_size 1860. Use moe_ffn_hidden_size 1856 or 1864.
      = at "8": expt_tp defaults to tp, which is 8 here
      = suggestion: Change moe_ffn_hidden_size to 1856: model: {moe_ffn_hidden_size: [-1860-]{+1856+}}
      = suggestion: Change moe_ffn_hidden_size to 1864: model: {moe_ffn_hidden_size: [-1860-]{+1864+}}
    a written expt_tp does not divide the width of an expert: warning at "1860": expt_tp 8 does not divide moe_ffn_hidden_size 1860. Use moe_ffn_hidden_size 1856 or 1864.
      = at "8": expt_tp is 8 here
      = suggestion: Change moe_ffn_hidden_size to 1856: model: {moe_ffn_hidden_size: [-1860-]{+1856+}}
      = suggestion: Change moe_ffn_hidden_size to 1864: model: {moe_ffn_hidden_size: [-1860-]{+1864+}}"
  `);
});
