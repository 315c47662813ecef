import { expect, test } from 'vitest';
import { modules, reports } from '../testing';
import { colocatedBridge } from './colocated-bridge';

/** Modules that share all ranks, with the degrees of each. */
const shared = (ranks: number, ...degrees: readonly string[]) =>
  modules(ranks, ...degrees.map((one, i) => `${['images', 'language', 'audio'][i]}: {num_ranks: ${ranks}, ${one}}`));

test('colocated-bridge', () => {
  const said = reports(colocatedBridge, {
    'dp sizes that divide one another': shared(6, 'tp: 1', 'tp: 2'),
    'modules that stand apart may have a pipeline': modules(
      8,
      'images: {num_ranks: 4, tp: 2}',
      'language: {rank_offset: 4, num_ranks: 4, tp: 2, pp: 2}',
    ),
    'dp sizes that do not divide one another': shared(6, 'tp: 3', 'tp: 2'),
    'weight shards beside tp': shared(12, 'tp: 2, gtp_remat: 2', 'tp: 6'),
    'an encoder without tp': shared(6, 'cp: 1', 'tp: 6', 'pp: 2'),
    'a pipeline and context parallelism': shared(8, 'tp: 2, cp: 2', 'tp: 2, pp: 2'),
    'replicas whose weight shards the bridge leaves out': shared(8, 'tp: 8', 'gtp_remat: 4'),
    'equal replicas of weight shards': shared(8, 'tp: 2, gtp_remat: 2', 'tp: 4'),
    'weight shards on the side with fewer replicas': shared(8, 'gtp_remat: 4', 'tp: 1'),
  });
  expect(said).toMatchInlineSnapshot(`
    "dp sizes that do not divide one another: error at "3": 'images' has dp 2 and 'language' dp 3; one must divide the other. Use tp 1, 2 or 6 for 'images'.
      = Megatron-LM: DP sizes must be evenly divisible: src_dp=2, dest_dp=3
      = at "language": 'language' has dp 3
      = suggestion: Change tp to 2: images: {num_ranks: 6, tp: [-3-]{+2+}}
      = suggestion: Change tp to 1: images: {num_ranks: 6, tp: [-3-]{+1+}}
      = suggestion: Change tp to 6: images: {num_ranks: 6, tp: [-3-]{+6+}}
    weight shards beside tp: error at "2": 'images' has dp 3 and 'language' dp 2; one must divide the other. Use tp 1, 3 or 6 for 'images'.
      = Megatron-LM: DP sizes must be evenly divisible: src_dp=3, dest_dp=2
      = at "language": 'language' has dp 2
      = suggestion: Change tp to 3: images: {num_ranks: 12, tp: [-2-]{+3+}, gtp_remat: 2}
      = suggestion: Change tp to 6: images: {num_ranks: 12, tp: [-2-]{+6+}, gtp_remat: 2}
    an encoder without tp: error at "2": 'audio' shares its ranks with other modules, so it cannot have pp 2. Use pp 1, or give each module its own ranks.
      = Megatron-LM: src PP must be 1 for ColocatedBridgeCommunicator, got 2
      = suggestion: Change pp to 1: audio: {num_ranks: 6, pp: [-2-]{+1+}}
    a pipeline and context parallelism: error at "2": 'images' shares its ranks with other modules, so it cannot have cp 2. Use cp 1, or give each module its own ranks.
      = Megatron-LM: src CP must be 1 for ColocatedBridgeCommunicator, got 2
      = suggestion: Change cp to 1: images: {num_ranks: 8, tp: 2, cp: [-2-]{+1+}}
      error at "2": 'language' shares its ranks with other modules, so it cannot have pp 2. Use pp 1, or give each module its own ranks.
      = Megatron-LM: dest PP must be 1 for ColocatedBridgeCommunicator, got 2
      = suggestion: Change pp to 1: language: {num_ranks: 8, tp: 2, pp: [-2-]{+1+}}
    replicas whose weight shards the bridge leaves out: error at "4": The bridge gathers over tp and dp of 'language' and leaves gtp_remat 4 out: 6 of 8 ranks have no gather group and wait in the world group for ever. Use gtp_remat 1 for 'language', or the same dp for both modules.
      = at "language": 'images' has dp 1, 'language' dp 2
      = suggestion: Change gtp_remat to 1: language: {num_ranks: 8, gtp_remat: [-4-]{+1+}}"
  `);
});
