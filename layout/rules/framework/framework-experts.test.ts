import { expect, test } from 'vitest';
import { of, reports } from '../testing';
import { frameworkExperts } from './framework-experts';

test('framework-experts', () => {
  const said = reports(frameworkExperts, {
    'torchtitan: ep divides dp_shard x cp x tp': of('torchtitan', 16, 'tp: 2, cp: 2, pp: 2, ep: 8'),
    'torchtitan: ep does not divide them': of(
      'torchtitan',
      16,
      'tp: 2, pp: 4, ep: 4',
      'data_parallel_shard_degree: 2',
    ).replace('pp: 4, ep: 4', 'pp: 4, ep: 8'),
    'torchtitan: ep reaches over replicas': of('torchtitan', 8, 'ep: 8', 'data_parallel_replicate_degree: 2'),
    'torchtitan: ep does not divide the experts': `${of('torchtitan', 16, 'ep: 16')}model: {num_experts: 24}\n`,
    'torchtitan: a world that the degrees do not make is reported alone': of(
      'torchtitan',
      8,
      'tp: 3, ep: 5',
      'data_parallel_shard_degree: 4',
    ),
    'nanotron: ep has no room in the grid': of('nanotron', 8, 'tp: 2, dp: 4, ep: 4'),
  });
  expect(said).toMatchInlineSnapshot(`
    "torchtitan: ep does not divide them: error at "8": ep 8 does not divide dp_shard 2 x tp 2 = 4 ranks that torchtitan spreads experts over. Use ep 1, 2 or 4.
      = torchtitan: expert_parallel_degree (8) must divide dp_shard * cp * tp (4)
      = at "2": dp_shard is 2 here
      = at "2": tp is 2 here
      = suggestion: Change ep to 4: parallelism: {tp: 2, pp: 4, ep: [-8-]{+4+}}
      = suggestion: Change ep to 2: parallelism: {tp: 2, pp: 4, ep: [-8-]{+2+}}
      = suggestion: Change ep to 1: parallelism: {tp: 2, pp: 4, ep: [-8-]{+1+}}
    torchtitan: ep reaches over replicas: error at "8": ep 8 does not divide dp_shard 4 that torchtitan spreads experts over. Use ep 1, 2 or 4.
      = torchtitan: expert_parallel_degree (8) must divide dp_shard * cp * tp (4)
      = suggestion: Change ep to 4: parallelism: {ep: [-8-]{+4+}}
      = suggestion: Change ep to 2: parallelism: {ep: [-8-]{+2+}}
      = suggestion: Change ep to 1: parallelism: {ep: [-8-]{+1+}}
    torchtitan: ep does not divide the experts: error at "16": ep 16 does not divide 24 experts. Use ep 2, 4 or 8.
      = at "24": num_experts is 24 here
      = suggestion: Change ep to 2: parallelism: {ep: [-16-]{+2+}}
      = suggestion: Change ep to 4: parallelism: {ep: [-16-]{+4+}}
      = suggestion: Change ep to 8: parallelism: {ep: [-16-]{+8+}}
    torchtitan: a world that the degrees do not make is reported alone: error[framework-world] at "3": dp_shard 4 x tp 3 = 12 ranks, but the world has 8 ranks. Use tp 2, or world_size 12.
      = torchtitan: Invalid parallel dims: dp_replicate(1) * dp_shard(4) * cp(1) * tp(3) * pp(1) != WORLD_SIZE(8)
      = at "4": dp_shard is 4 here
    nanotron: ep has no room in the grid: error at "4": ep 4 does not divide the one rank that nanotron spreads experts over. Use ep 1.
      = nanotron: cannot reshape array of size 8 into shape
      = suggestion: Change ep to 1: parallelism: {tp: 2, dp: 4, ep: [-4-]{+1+}}"
  `);
});
