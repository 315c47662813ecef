import { expect, test } from 'vitest';
import { modules, reports } from '../testing';
import { worldGap } from './world-gap';

test('world-gap', () => {
  const said = reports(worldGap, {
    'every rank has a module': modules(8, 'images: {num_ranks: 4}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}'),
    'between two modules': modules(
      8,
      'images: {num_ranks: 2, tp: 2}',
      'language: {rank_offset: 4, num_ranks: 4, tp: 2}',
    ),
    'at the end': modules(8, 'images: {num_ranks: 2}', 'language: {rank_offset: 2, num_ranks: 4, tp: 2}'),
    'at the start': modules(8, 'language: {rank_offset: 4, num_ranks: 4, tp: 2}'),
    'several gaps': modules(
      32,
      'images: {rank_offset: 1, num_ranks: 2}',
      'audio: {rank_offset: 8, num_ranks: 4}',
      'video: {rank_offset: 16, num_ranks: 4}',
      'text: {rank_offset: 22, num_ranks: 2}',
      'language: {rank_offset: 26, num_ranks: 4}',
    ),
    'by flags, a module that starts late': modules(8, 'images: {dp: 2}', 'language: {rank_offset: 4, dp: 2, tp: 2}'),
    'with a cluster that shrinks by whole nodes': `${modules(8, 'language: {num_ranks: 4, tp: 2}')}cluster: {nodes: 2, gpus_per_node: 4}\n`,
    'modules that all begin at rank 0': modules(
      8,
      'images: {num_ranks: 4, tp: 2}',
      'language: {num_ranks: 4, tp: 2, pp: 2}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "between two modules: error at "4": No module has ranks 2 to 3. Grow 'images' by 2 ranks, or start 'language' at rank 2.
      = Megatron-LM: Module grids must partition the world [0, 8) with no gaps, got {'images': (0, 2), 'language': (4, 8)}
      = at "images": 'images' covers ranks 0 to 1
      = at "language": 'language' covers ranks 4 to 7
      = suggestion: Give 'images' 4 ranks: images: {num_ranks: [-2-]{+4+}, tp: 2}
      = suggestion: Start 'language' at rank 2, with 6 ranks: language: {rank_offset: [-4-]{+2+}, num_ranks: [-4-]{+6+}, tp: 2}
      = suggestion: Close the gap and change world_size to 6: world_size: [-8-]{+6+} | language: {rank_offset: [-4-]{+2+}, num_ranks: 4, tp: 2}
    at the end: error at "8": No module has ranks 6 to 7. Grow 'language' by 2 ranks, or use world_size 6.
      = Megatron-LM: Module grids must partition the world [0, 8) with no gaps, got {'images': (0, 2), 'language': (2, 6)}
      = at "language": 'language' covers ranks 2 to 5
      = suggestion: Give 'language' 6 ranks: language: {rank_offset: 2, num_ranks: [-4-]{+6+}, tp: 2}
      = suggestion: Change world_size to 6: world_size: [-8-]{+6+}
    at the start: error at "4": No module has ranks 0 to 3. Start 'language' at rank 0.
      = Megatron-LM: Module grids must partition the world [0, 8) with no gaps, got {'language': (4, 8)}
      = at "language": 'language' covers ranks 4 to 7
      = suggestion: Start 'language' at rank 0, with 8 ranks: language: {rank_offset: [-4-]{+0+}, num_ranks: [-4-]{+8+}, tp: 2}
      = suggestion: Close the gap and change world_size to 4: world_size: [-8-]{+4+} | language: {rank_offset: [-4-]{+0+}, num_ranks: 4, tp: 2}
    several gaps: error at "1": No module has rank 0, ranks 3 to 7, ranks 12 to 15, ranks 20 to 21 and 2 more ranges (16 ranks). Start 'images' at rank 0.
      = Megatron-LM: Module grids must partition the world [0, 32) with no gaps, got {'images': (1, 3), 'audio': (8, 12), 'video': (16, 20), 'text': (22, 24), 'language': (26, 30)}
      = at "images": 'images' covers ranks 1 to 2
    by flags, a module that starts late: error at "4": No module has ranks 2 to 3. Grow 'images' by 2 ranks, or start 'language' at rank 2.
      = Megatron-LM: The non-colocated module grids must cover every torchrun rank exactly once; covered=[0, 1, 4, 5, 6, 7], world=[0, 1, 2, 3, 4, 5, 6, 7]
      = at "images": 'images' covers ranks 0 to 1
      = at "language": 'language' covers ranks 4 to 7
      = suggestion: Give 'images' 4 ranks: images: {dp: [-2-]{+4+}}
      = suggestion: Start 'language' at rank 2, with 6 ranks: language: {rank_offset: [-4-]{+2+}, dp: [-2-]{+3+}, tp: 2}
      = suggestion: Close the gap and change world_size to 6: world_size: [-8-]{+6+} | language: {rank_offset: [-4-]{+2+}, dp: 2, tp: 2}
    with a cluster that shrinks by whole nodes: error at "8": No module has ranks 4 to 7. Grow 'language' by 4 ranks, or use world_size 4.
      = Megatron-LM: Module grids must partition the world [0, 8) with no gaps, got {'language': (0, 4)}
      = at "language": 'language' covers ranks 0 to 3
      = suggestion: Give 'language' 8 ranks: language: {num_ranks: [-4-]{+8+}, tp: 2}
      = suggestion: Change world_size to 4: world_size: [-8-]{+4+} | cluster: {nodes: [-2-]{+1+}, gpus_per_node: 4}
    modules that all begin at rank 0: error at "8": No module has ranks 4 to 7. Give each module ranks of its own, or use world_size 4.
      = Megatron-LM: Module grids must partition the world [0, 8) with no gaps, got {'images': (0, 4), 'language': (0, 4)}
      = at "images": 'images' covers ranks 0 to 3
      = at "language": 'language' covers ranks 0 to 3
      = suggestion: Lay the modules side by side: language: {num_ranks: 4, tp: 2, pp: 2{+, rank_offset: 4+}}"
  `);
});
