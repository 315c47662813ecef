import { expect, test } from 'vitest';
import { modules, reports } from '../testing';
import { worldOverlap } from './world-overlap';

test('world-overlap', () => {
  const said = reports(worldOverlap, {
    'colocated modules': modules(8, 'images: {num_ranks: 8}', 'language: {num_ranks: 8, tp: 2}'),
    'modules one behind the other': modules(
      8,
      'images: {num_ranks: 4}',
      'language: {rank_offset: 4, num_ranks: 4, tp: 2}',
    ),
    'some ranks are shared': modules(
      8,
      'images: {num_ranks: 4, tp: 2}',
      'language: {rank_offset: 2, num_ranks: 6, tp: 2}',
    ),
    'one rank is shared': modules(8, 'images: {num_ranks: 5}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}'),
    'the flags of examples/mimo list them': modules(
      8,
      'images: {dp: 2, tp: 2}',
      'language: {rank_offset: 2, dp: 3, tp: 2}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "some ranks are shared: error at "2": 'images' and 'language' both have ranks 2 to 3. Start 'language' at rank 4, or let both cover the same ranks.
      = Megatron-LM: Module grids must either fully share ranks or be pairwise disjoint, got {'images': (0, 4), 'language': (2, 8)}
      = at "images": 'images' covers ranks 0 to 3
      = suggestion: Start 'language' at rank 4 and change world_size to 10: world_size: [-8-]{+10+} | language: {rank_offset: [-2-]{+4+}, num_ranks: 6, tp: 2}
      = suggestion: Give 'images' 2 ranks: images: {num_ranks: [-4-]{+2+}, tp: 2}
    one rank is shared: error at "4": 'images' and 'language' both have rank 4. Start 'language' at rank 5, or let both cover the same ranks.
      = Megatron-LM: Module grids must either fully share ranks or be pairwise disjoint, got {'images': (0, 5), 'language': (4, 8)}
      = at "images": 'images' covers ranks 0 to 4
      = suggestion: Start 'language' at rank 5 and change world_size to 9: world_size: [-8-]{+9+} | language: {rank_offset: [-4-]{+5+}, num_ranks: 4, tp: 2}
      = suggestion: Give 'images' 4 ranks: images: {num_ranks: [-5-]{+4+}}
    the flags of examples/mimo list them: error at "2": 'images' and 'language' both have ranks 2 to 3. Start 'language' at rank 4, or let both cover the same ranks.
      = Megatron-LM: hetero MIMO expects disjoint module rank spans; spans overlap at [2, 3]
      = at "images": 'images' covers ranks 0 to 3
      = suggestion: Start 'language' at rank 4 and change world_size to 10: world_size: [-8-]{+10+} | language: {rank_offset: [-2-]{+4+}, dp: 3, tp: 2}
      = suggestion: Give 'images' 2 ranks: images: {dp: [-2-]{+1+}, tp: 2}"
  `);
});
