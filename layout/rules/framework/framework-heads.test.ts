import { expect, test } from 'vitest';
import { of, reports } from '../testing';
import { frameworkHeads } from './framework-heads';

test('framework-heads', () => {
  const model = (heads: number, groups: number) =>
    `model: {num_attention_heads: ${heads}, num_query_groups: ${groups}}\n`;
  const said = reports(frameworkHeads, {
    'torchtitan: tp divides both': `${of('torchtitan', 8, 'tp: 8')}${model(32, 8)}`,
    'torchtitan: fewer key-value heads than ranks': `${of('torchtitan', 16, 'tp: 16')}${model(32, 8)}`,
    'torchtitan: a flavor, whose heads may be changed': `${of('torchtitan', 16, 'tp: 16')}model: {from: torchtitan/llama3-8B}\n`,
    'torchtitan: heads': `${of('torchtitan', 6, 'tp: 6')}${model(32, 8)}`,
    'torchtitan: key-value heads are the heads where they are not written': `${of('torchtitan', 6, 'tp: 6')}model: {num_attention_heads: 32}\n`,
    'nanotron: fewer key-value heads than ranks': `${of('nanotron', 8, 'tp: 8')}${model(16, 4)}`,
    'nanotron: key-value heads': `${of('nanotron', 4, 'tp: 4')}${model(12, 6)}`,
    'accelerate: heads that transformers cuts without a check': `${of('accelerate', 4, 'tp: 4')}${model(6, 3)}`,
  });
  expect(said).toMatchInlineSnapshot(`
    "torchtitan: fewer key-value heads than ranks: error at "16": tp 16 does not divide 8 key-value heads, which torchtitan does not copy to several ranks. Use tp 2, 4 or 8.
      = torchtitan: tensor_parallel_degree (16) must divide n_kv_heads (8).
      = at "8": num_query_groups is 8 here
      = suggestion: Change tp to 8: parallelism: {tp: [-16-]{+8+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-16-]{+4+}}
      = suggestion: Change tp to 2: parallelism: {tp: [-16-]{+2+}}
    torchtitan: a flavor, whose heads may be changed: warning at "16": tp 16 does not divide 8 key-value heads, which torchtitan does not copy to several ranks. Use tp 2, 4 or 8.
      = torchtitan: tensor_parallel_degree (16) must divide n_kv_heads (8).
      = at "torchtitan/llama3-8B": num_query_groups is 8 here
      = suggestion: Change tp to 8: parallelism: {tp: [-16-]{+8+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-16-]{+4+}}
      = suggestion: Change tp to 2: parallelism: {tp: [-16-]{+2+}}
    torchtitan: heads: error at "6": tp 6 does not divide 32 attention heads. Use tp 2, 4 or 8.
      = torchtitan: tensor_parallel_degree (6) must divide n_heads (32).
      = at "32": num_attention_heads is 32 here
      = suggestion: Change tp to 2: parallelism: {tp: [-6-]{+2+}}
    torchtitan: key-value heads are the heads where they are not written: error at "6": tp 6 does not divide 32 attention heads. Use tp 8, 16 or 32.
      = torchtitan: tensor_parallel_degree (6) must divide n_heads (32).
      = at "32": num_attention_heads is 32 here
    nanotron: fewer key-value heads than ranks: error at "8": tp 8 does not divide 4 key-value heads, which nanotron does not copy to several ranks. Use tp 1, 2 or 4.
      = nanotron: num_key_value_heads (4) must be >= tp (8)
      = at "4": num_query_groups is 4 here
      = suggestion: Change tp to 4: parallelism: {tp: [-8-]{+4+}}
      = suggestion: Change tp to 2: parallelism: {tp: [-8-]{+2+}}
      = suggestion: Change tp to 1: parallelism: {tp: [-8-]{+1+}}
    nanotron: key-value heads: error at "4": tp 4 does not divide 6 key-value heads. Use tp 2, 3 or 6.
      = nanotron: Number of key/value heads (6) must be divisible by TP size (4).
      = at "6": num_query_groups is 6 here
      = suggestion: Change tp to 2: parallelism: {tp: [-4-]{+2+}}
    accelerate: heads that transformers cuts without a check: error at "4": tp 4 does not divide 6 attention heads. Use tp 1 or 3.
      = at "6": num_attention_heads is 6 here
      = suggestion: Change tp to 1: parallelism: {tp: [-4-]{+1+}}"
  `);
});
