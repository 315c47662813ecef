import { expect, test } from 'vitest';
import { modules, reports } from '../testing';
import { mixedColocation } from './mixed-colocation';

test('mixed-colocation', () => {
  const said = reports(mixedColocation, {
    'all modules share their ranks': modules(
      4,
      'images: {num_ranks: 4}',
      'audio: {num_ranks: 4}',
      'language: {num_ranks: 4, tp: 2}',
    ),
    'two share, one stands apart': modules(
      8,
      'images: {num_ranks: 4, tp: 2}',
      'audio: {num_ranks: 4, tp: 2}',
      'language: {rank_offset: 4, num_ranks: 4, tp: 2}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "two share, one stands apart: error at "audio": 'images' and 'audio' share ranks 0 to 3 while 'language' has ranks 4 to 7. Give all modules the same ranks, or each its own.
      = Megatron-LM: Module grids must either fully share ranks or be pairwise disjoint, got {'images': (0, 4), 'audio': (0, 4), 'language': (4, 8)}
      = at "images": 'images' covers ranks 0 to 3
      = at "language": 'language' covers ranks 4 to 7
      = suggestion: Divide ranks 0 to 3 among 'images' and 'audio': images: {num_ranks: [-4-]{+2+}, tp: 2} | audio: {num_ranks: [-4-]{+2+}, tp: 2{+, rank_offset: 2+}}
      = suggestion: Lay the modules side by side and change world_size to 12: world_size: [-8-]{+12+} | audio: {num_ranks: 4, tp: 2{+, rank_offset: 4+}} | language: {rank_offset: [-4-]{+8+}, num_ranks: 4, tp: 2}"
  `);
});
