import { expect, test } from 'vitest';
import { of, reports } from '../testing';
import { frameworkWorld } from './framework-world';

test('framework-world', () => {
  const said = reports(frameworkWorld, {
    'torchtitan: the shard degree takes what is left': of('torchtitan', 32, 'tp: 2, pp: 2, cp: 2'),
    'torchtitan: the product is the world': of('torchtitan', 16, 'tp: 2', 'data_parallel_shard_degree: 8'),
    'torchtitan: the product is not the world': of('torchtitan', 8, 'cp: 8', 'data_parallel_shard_degree: 8'),
    'torchtitan: nothing is left to shard over': of('torchtitan', 8, 'tp: 16'),
    'torchtitan: -1 leaves a part': of('torchtitan', 12, 'tp: 8', 'data_parallel_shard_degree: -1'),
    'torchtitan: a shard degree of 0': of('torchtitan', 8, 'tp: 8', 'data_parallel_shard_degree: 0'),
    'torchtitan: replicas and shards': of(
      'torchtitan',
      24,
      'tp: 2',
      'data_parallel_replicate_degree: 2, data_parallel_shard_degree: 4',
    ),
    'accelerate: an unwritten shard degree is 1': of('accelerate', 8, 'tp: 4'),
    'accelerate: all ones replicate the model over any world': of('accelerate', 8, 'tp: 1'),
    'accelerate: DeepSpeed makes the groups of Ulysses': of('accelerate', 8, 'ulysses: 4'),
    'accelerate: -1 does not stand for the rest': of('accelerate', 8, 'tp: 4', 'data_parallel_shard_degree: -1'),
    'nanotron: every degree is written': of('nanotron', 8, 'tp: 2, dp: 16'),
    'nanotron: dp is what the others leave': of('nanotron', 8, 'tp: 2'),
  });
  expect(said).toMatchInlineSnapshot(`
    "torchtitan: the product is not the world: error at "8": dp_shard 8 x cp 8 = 64 ranks, but the world has 8 ranks. Use dp_shard 1, or world_size 64.
      = torchtitan: Invalid parallel dims: dp_replicate(1) * dp_shard(8) * cp(8) * tp(1) * pp(1) != WORLD_SIZE(8)
      = at "8": cp is 8 here
      = suggestion: Change dp_shard to 1: fsdp: {data_parallel_shard_degree: [-8-]{+1+}}
      = suggestion: Change world_size to 64: world_size: [-8-]{+64+}
    torchtitan: nothing is left to shard over: error at "16": tp 16 does not divide 8 ranks. Use tp 2, 4 or 8, or world_size 16.
      = torchtitan: an assertion without a message
      = suggestion: Change tp to 8: parallelism: {tp: [-16-]{+8+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-16-]{+4+}}
      = suggestion: Change tp to 2: parallelism: {tp: [-16-]{+2+}}
      = suggestion: Change world_size to 16: world_size: [-8-]{+16+}
    torchtitan: -1 leaves a part: error at "8": tp 8 does not divide 12 ranks. Use tp 4, 6 or 12, or world_size 8.
      = torchtitan: Invalid parallel dims: dp_replicate(1) * dp_shard(1) * cp(1) * tp(8) * pp(1) != WORLD_SIZE(12)
      = suggestion: Change tp to 6: parallelism: {tp: [-8-]{+6+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-8-]{+4+}}
      = suggestion: Change tp to 12: parallelism: {tp: [-8-]{+12+}}
      = suggestion: Change world_size to 8: world_size: [-12-]{+8+}
    torchtitan: a shard degree of 0: error at "0": dp_shard is 0, but must be -1 (what the other degrees leave) or at least 1.
      = torchtitan: dp_shard must -1 or >=1.
      = suggestion: Change dp_shard to 1: fsdp: {data_parallel_shard_degree: [-0-]{+1+}}
    torchtitan: replicas and shards: error at "2": dp_replicate 2 x dp_shard 4 x tp 2 = 16 ranks, but the world has 24 ranks. Use dp_replicate 3, or world_size 16.
      = torchtitan: Invalid parallel dims: dp_replicate(2) * dp_shard(4) * cp(1) * tp(2) * pp(1) != WORLD_SIZE(24)
      = at "4": dp_shard is 4 here
      = at "2": tp is 2 here
      = suggestion: Change dp_replicate to 3: fsdp: {data_parallel_replicate_degree: [-2-]{+3+}, data_parallel_shard_degree: 4}
      = suggestion: Change world_size to 16: world_size: [-24-]{+16+}
    accelerate: an unwritten shard degree is 1: error at "4": tp 4, but the world has 8 ranks. Use tp 8, or world_size 4.
      = accelerate: ParallelismConfig total_size (4) does not match num_processes (8). Please adjust dp_replicate_size/ dp_shard_size/tp_size/cp_size/sp_size.
      = suggestion: Change tp to 8: parallelism: {tp: [-4-]{+8+}}
      = suggestion: Change world_size to 4: world_size: [-8-]{+4+}
    accelerate: -1 does not stand for the rest: error at "-1": dp_shard is -1, but must be at least 1.
      = accelerate: dp_shard_size must be at least 1, but got -1
    nanotron: every degree is written: error at "16": tp 2 x dp 16 = 32 ranks, but the world has 8 ranks. Use dp 4, or world_size 32.
      = nanotron: TP*CP*DP*PP=2*1*1*16=32 != WORLD_SIZE=8
      = at "2": tp is 2 here
      = suggestion: Change dp to 4: parallelism: {tp: 2, dp: [-16-]{+4+}}
      = suggestion: Change world_size to 32: world_size: [-8-]{+32+}"
  `);
});
