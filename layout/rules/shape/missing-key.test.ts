import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { missingKey } from './missing-key';

test('missing-key', () => {
  const said = reports(missingKey, {
    'an empty file': '# nothing\n',
    'no version': 'world_size: 8\nparallelism: {tp: 2}\n',
    'no number of ranks': 'layout: 1\nparallelism: {tp: 2}\n',
    'no degrees': 'layout: 1\nworld_size: 8\n',
    'modules that do not say how many ranks they have':
      'layout: 1\nworld_size: 16\nmodules:\n  images: {tp: 2}\n  language: {rank_offset: 8, tp: 4}\n',
    'a module that does not say how many ranks it has': 'layout: 1\nworld_size: 8\nmodules:\n  language: {tp: 4}\n',
    'an entry without its replica': job(
      8,
      'tp: 4',
      'ntp: {tp_spares: 1, non_active_ranks_per_dp: [{local_ranks: [3]}]}',
    ),
    'the nodes that the world needs': 'layout: 1\nworld_size: 64\ncluster:\n  gpus_per_node: 8\nparallelism: {tp: 2}\n',
    'the GPUs of a node that the world needs':
      'layout: 1\nworld_size: 64\ncluster: {nodes: 16}\nparallelism: {tp: 2}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "an empty file: error at "# nothing": The file is empty. A layout begins with 'layout: 1'.
      = suggestion: Insert a small layout: {+layout: 1⏎world_size: 8⏎parallelism:⏎  tp: 2⏎+}
    no version: error at "world_size: 8": layout is missing. Write 'layout: 1'.
      = suggestion: Insert layout: 1: parallelism: {tp: 2}{+⏎layout: 1+}
    no number of ranks: error at "layout": The number of ranks is missing. Write world_size, or cluster with nodes and gpus_per_node.
      = suggestion: Insert world_size: 2: layout: 1{+⏎world_size: 2+}
    no degrees: error at "layout": The degrees are missing. Write parallelism for one grid over the world, or modules for one grid each.
      = suggestion: Insert parallelism: {tp: 1}: layout: 1{+⏎parallelism: {tp: 1}+}
    modules that do not say how many ranks they have: error at "images": 'images' needs num_ranks or dp, and one replica takes 2 ranks. Write num_ranks 8.
      = suggestion: Insert num_ranks: 8: images: {tp: 2{+, num_ranks: 8+}}
      error at "language": 'language' needs num_ranks or dp, and one replica takes 4 ranks. Write num_ranks 8.
      = suggestion: Insert num_ranks: 8: language: {rank_offset: 8, tp: 4{+, num_ranks: 8+}}
    a module that does not say how many ranks it has: error at "language": 'language' needs num_ranks or dp, and one replica takes 4 ranks. Write num_ranks 8.
      = suggestion: Insert num_ranks: 8: language: {tp: 4{+, num_ranks: 8+}}
    an entry without its replica: error at "non_active_ranks_per_dp": dp is missing under ntp.non_active_ranks_per_dp[0]. Write 'dp: 0'.
      = suggestion: Insert dp: 0: ntp: {tp_spares: 1, non_active_ranks_per_dp: [{local_ranks: [3]{+, dp: 0+}}]}
    the nodes that the world needs: error at "cluster": nodes is missing under cluster. Write 'nodes: 8'.
      = suggestion: Insert nodes: 8: gpus_per_node: 8{+⏎  nodes: 8+}
    the GPUs of a node that the world needs: error at "cluster": gpus_per_node is missing under cluster. Write 'gpus_per_node: 4'.
      = suggestion: Insert gpus_per_node: 4: cluster: {nodes: 16{+, gpus_per_node: 4+}}"
  `);
});
