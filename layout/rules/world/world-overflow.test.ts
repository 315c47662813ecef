import { expect, test } from 'vitest';
import { modules, reports } from '../testing';
import { worldOverflow } from './world-overflow';

test('world-overflow', () => {
  const said = reports(worldOverflow, {
    'modules inside the world': modules(
      8,
      'images: {num_ranks: 4, tp: 2}',
      'language: {rank_offset: 4, num_ranks: 4, tp: 2}',
    ),
    'an offset too large': modules(
      8,
      'images: {num_ranks: 4, tp: 2}',
      'language: {rank_offset: 6, num_ranks: 4, tp: 2}',
    ),
    'more ranks than the world has': modules(8, 'language: {num_ranks: 16, tp: 2}'),
    'the flags of examples/mimo say it otherwise': modules(
      8,
      'images: {dp: 2, tp: 2}',
      'language: {rank_offset: 6, dp: 2, tp: 2}',
    ),
    'one module by flags that does not begin at rank 0': modules(8, 'language: {rank_offset: 4, dp: 4, tp: 2}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "an offset too large: error at "6": 'language' covers ranks 6 to 9, but the world has ranks 0 to 7. Use rank_offset 4, or world_size 10.
      = Megatron-LM: Grid shape [2, 1, 1, 2, 1] is over sized with world size 8 and rank offset 6
      = at "8": the world has 8 ranks
      = suggestion: Change rank_offset to 4: language: {rank_offset: [-6-]{+4+}, num_ranks: 4, tp: 2}
    more ranks than the world has: error at "16": 'language' covers ranks 0 to 15, but the world has ranks 0 to 7. Give it 8 ranks, or use world_size 16.
      = Megatron-LM: Grid shape [2, 1, 1, 8, 1] is over sized with world size 8 and rank offset 0
      = at "8": the world has 8 ranks
      = suggestion: Give 'language' 8 ranks: language: {num_ranks: [-16-]{+8+}, tp: 2}
      = suggestion: Change world_size to 16: world_size: [-8-]{+16+}
    the flags of examples/mimo say it otherwise: error at "6": 'language' covers ranks 6 to 9, but the world has ranks 0 to 7. Use rank_offset 4, or world_size 10.
      = Megatron-LM: The non-colocated module grids must cover every torchrun rank exactly once; covered=[0, 1, 2, 3, 6, 7, 8, 9], world=[0, 1, 2, 3, 4, 5, 6, 7]
      = at "8": the world has 8 ranks
      = suggestion: Change rank_offset to 4: language: {rank_offset: [-6-]{+4+}, dp: 2, tp: 2}
    one module by flags that does not begin at rank 0: error at "4": 'language' covers ranks 4 to 11, but the world has ranks 0 to 7. Use rank_offset 0, or world_size 12.
      = Megatron-LM: --llm-only requires --llm-offset 0 so language ranks cover WORLD_SIZE
      = at "8": the world has 8 ranks
      = suggestion: Change rank_offset to 0: language: {rank_offset: [-4-]{+0+}, dp: 4, tp: 2}"
  `);
});
