import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { ulyssesSize } from './ulysses-size';

test('ulysses-size', () => {
  const of = (launch: string, ranks: number, size: number, heads: number, groups: number) =>
    job(
      ranks,
      `ulysses: ${size}`,
      `launch: {${launch}}`,
      `model: {num_attention_heads: ${heads}, num_query_groups: ${groups}}`,
    );
  const verl = 'family: verl, engine: fsdp';
  const deepspeed = 'family: megatron-lm, engine: deepspeed';
  const said = reports(ulyssesSize, {
    'verl: heads and key-value heads divide': of(verl, 8, 4, 32, 8),
    'verl: key-value heads are copied': of(verl, 8, 8, 32, 4),
    'verl: the size does not divide the world': of(verl, 8, 3, 24, 3),
    'verl: the size does not divide the heads': of(verl, 64, 64, 48, 8),
    'verl: key-value heads neither divide nor multiply': of(verl, 8, 4, 24, 6),
    'DeepSpeed: the size does not divide the heads': of(deepspeed, 64, 64, 48, 48),
    'DeepSpeed: key-value heads are not compared': of(deepspeed, 8, 4, 24, 6),
    'DeepSpeed: a length that its ranks cannot share': `${of(deepspeed, 8, 4, 24, 24)}sequence: {seq_length: 4095}\n`,
    'verl pads a length': `${of(verl, 8, 4, 32, 8)}sequence: {seq_length: 4095}\n`,
    'accelerate: heads, as DeepSpeed asks': of('family: accelerate', 8, 8, 12, 12),
  });
  expect(said).toMatchInlineSnapshot(`
    "verl: the size does not divide the world: error at "3": ulysses 3 does not divide 8 ranks. Use ulysses 1, 2 or 4.
      = suggestion: Change ulysses to 1: parallelism: {ulysses: [-3-]{+1+}}
    verl: the size does not divide the heads: error at "64": ulysses 64 does not divide 48 attention heads. Use ulysses 4, 8 or 16.
      = verl: num_attention_heads 48 must be divisible by ulysses_sp_size 64
      = at "48": num_attention_heads is 48 here
      = suggestion: Change ulysses to 16: parallelism: {ulysses: [-64-]{+16+}}
      = suggestion: Change ulysses to 8: parallelism: {ulysses: [-64-]{+8+}}
      = suggestion: Change ulysses to 4: parallelism: {ulysses: [-64-]{+4+}}
    verl: key-value heads neither divide nor multiply: error at "4": ulysses 4 is neither a divisor nor a multiple of 6 key-value heads. Use ulysses 1 or 2.
      = verl: num_key_value_heads 6 must be divisible by ulysses_sp_size 4or vise versa. Upon ulysses_sp_size % num_key_value_heads == 0,kv heads are repeated to ensure correctness.
      = at "6": num_query_groups is 6 here
      = suggestion: Change ulysses to 2: parallelism: {ulysses: [-4-]{+2+}}
      = suggestion: Change ulysses to 1: parallelism: {ulysses: [-4-]{+1+}}
    DeepSpeed: the size does not divide the heads: error at "64": ulysses 64 does not divide 48 attention heads. Use ulysses 4, 8 or 16.
      = Megatron-DeepSpeed: Number of heads (48) must be divisible by the sequence parallel size (64)!
      = at "48": num_attention_heads is 48 here
      = suggestion: Change ulysses to 16: parallelism: {ulysses: [-64-]{+16+}}
      = suggestion: Change ulysses to 8: parallelism: {ulysses: [-64-]{+8+}}
      = suggestion: Change ulysses to 4: parallelism: {ulysses: [-64-]{+4+}}
    DeepSpeed: a length that its ranks cannot share: error at "4095": seq_length 4095 does not divide among the 4 ranks of ulysses. Use 4092 or 4096.
      = at "4": ulysses is 4 here
      = suggestion: Change seq_length to 4096: sequence: {seq_length: [-4095-]{+4096+}}
      = suggestion: Change seq_length to 4092: sequence: {seq_length: [-4095-]{+4092+}}
    accelerate: heads, as DeepSpeed asks: error at "8": ulysses 8 does not divide 12 attention heads. Use ulysses 1, 2 or 4.
      = accelerate: Attention head count 12 is not divisible by SP size 8
      = at "12": num_attention_heads is 12 here
      = suggestion: Change ulysses to 4: parallelism: {ulysses: [-8-]{+4+}}
      = suggestion: Change ulysses to 2: parallelism: {ulysses: [-8-]{+2+}}
      = suggestion: Change ulysses to 1: parallelism: {ulysses: [-8-]{+1+}}"
  `);
});
