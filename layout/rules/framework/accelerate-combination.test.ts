import { expect, test } from 'vitest';
import { of, reports } from '../testing';
import { accelerateCombination } from './accelerate-combination';

test('accelerate-combination', () => {
  const said = reports(accelerateCombination, {
    'ring attention alone': of('accelerate', 8, 'cp: 2', 'data_parallel_shard_degree: 4'),
    'ring attention and Ulysses': of('accelerate', 4, 'cp: 2, ulysses: 2'),
    'tensor parallelism beside replicas': of('accelerate', 8, 'tp: 2', 'data_parallel_replicate_degree: 4'),
    'context parallelism beside replicas': of('accelerate', 8, 'cp: 2', 'data_parallel_replicate_degree: 4'),
    'tensor parallelism beside sharded replicas': of(
      'accelerate',
      8,
      'tp: 2',
      'data_parallel_replicate_degree: 2, data_parallel_shard_degree: 2',
    ),
    'the same degrees of another framework': of('torchtitan', 8, 'tp: 2', 'data_parallel_replicate_degree: 4'),
  });
  expect(said).toMatchInlineSnapshot(`
    "ring attention and Ulysses: error at "2": cp 2 (ring attention) and ulysses 2 exclude each other. Use cp 1 or ulysses 1.
      = accelerate: Context Parallelism (CP) and Sequence Parallelism (SP) are mutually exclusive. Got cp_size=2 and sp_size=2. Please set either cp_size=1 or sp_size=1.
      = at "2": cp is 2 here
      = suggestion: Change cp to 1: parallelism: {cp: [-2-]{+1+}, ulysses: 2}
    tensor parallelism beside replicas: error at "4": tp 2 needs parameters that are sharded, but dp_replicate is 4 and dp_shard 1. Use data_parallel_shard_degree 4 and data_parallel_replicate_degree 1.
      = accelerate: Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism (dp_replicate_size > 1 and dp_shard_size == 1). Please set dp_shard_size > 1 and dp_replicate_size == 1 to compose FSDP + TP/CP for 2D parallel, or set dp_replicate_size == 1 and dp_shard_size > 1 to compose HSDP + TP/CP for 3D parallel.
      = at "2": tp is 2 here
    context parallelism beside replicas: error at "4": cp 2 needs parameters that are sharded, but dp_replicate is 4 and dp_shard 1. Use data_parallel_shard_degree 4 and data_parallel_replicate_degree 1.
      = accelerate: Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism (dp_replicate_size > 1 and dp_shard_size == 1). Please set dp_shard_size > 1 and dp_replicate_size == 1 to compose FSDP + TP/CP for 2D parallel, or set dp_replicate_size == 1 and dp_shard_size > 1 to compose HSDP + TP/CP for 3D parallel.
      = at "2": cp is 2 here"
  `);
});
