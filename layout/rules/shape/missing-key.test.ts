import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { missingKey } from './missing-key';

const said = (text: string) => report(missingKey, text);

test('an empty file', () => {
  expect(said('# nothing\n')).toMatchInlineSnapshot(`
    "error[missing-key] at "# nothing"
    The file is empty. A layout begins with \`layout: 1\`.
    = suggestion: Insert a small layout
      + layout: 1
      + world_size: 8
      + parallelism:
      +   tp: 2"
  `);
});

test('no version', () => {
  expect(said('world_size: 8\nparallelism: {tp: 2}\n')).toMatchInlineSnapshot(`
    "error[missing-key] at "world_size: 8"
    The file needs the key \`layout\`. The version of the format: 1.
    = suggestion: Insert \`layout: 1\`
      + layout: 1"
  `);
});

test('no number of ranks', () => {
  expect(said('layout: 1\nparallelism: {tp: 2}\n')).toMatchInlineSnapshot(`
    "error[missing-key] at "layout"
    The number of ranks is missing. Write \`world_size\`, or \`cluster\` with \`nodes\` and \`gpus_per_node\`.
    = suggestion: Insert \`world_size: 2\`
      + world_size: 2"
  `);
});

test('no degrees', () => {
  expect(said('layout: 1\nworld_size: 8\n')).toMatchInlineSnapshot(`
    "error[missing-key] at "layout"
    The degrees are missing. Write \`parallelism\` for one grid over the world, or \`modules\` for one grid each.
    = suggestion: Insert \`parallelism: {tp: 1}\`
      + parallelism: {tp: 1}"
  `);
});

test('a module that does not say how many ranks it has', () => {
  expect(said('layout: 1\nworld_size: 8\nmodules:\n  language: {tp: 4}\n')).toMatchInlineSnapshot(`
    "error[missing-key] at "language"
    \`language\` needs \`num_ranks\` or \`dp\`. One replica takes 4 ranks."
  `);
});

test('an entry without its replica', () => {
  expect(
    said(job(8, 'tp: 4', 'ntp: {tp_spares: 1, non_active_ranks_per_dp: [{local_ranks: [3]}]}')),
  ).toMatchInlineSnapshot(`
    "error[missing-key] at "non_active_ranks_per_dp"
    \`ntp.non_active_ranks_per_dp[0]\` needs the key \`dp\`. Index of the data-parallel replica.
    = suggestion: Insert \`dp: 0\`
      - ntp: {tp_spares: 1, non_active_ranks_per_dp: [{local_ranks: [3]}]}
      + ntp: {tp_spares: 1, non_active_ranks_per_dp: [{local_ranks: [3], dp: 0}]}
    error[ntp-map-incomplete] at "non_active_ranks_per_dp"
    non_active_ranks_per_dp is missing: the groups shrink, but the reshard maps take all replicas as whole. Write the slots of replica dp 0.
    = suggestion: Write the last slots (3) of each replica
      - ntp: {tp_spares: 1, non_active_ranks_per_dp: [{local_ranks: [3]}]}
      + ntp: {tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}, {local_ranks: [3]}]}"
  `);
});

test('the nodes that the world needs', () => {
  expect(
    said('layout: 1\nworld_size: 64\ncluster:\n  gpus_per_node: 8\nparallelism: {tp: 2}\n'),
  ).toMatchInlineSnapshot(`
    "error[missing-key] at "cluster"
    \`cluster\` needs the key \`nodes\`. Machines.
    = suggestion: Insert \`nodes: 8\`
      +   nodes: 8"
  `);
});

test('the GPUs of a node that the world needs', () => {
  expect(said('layout: 1\nworld_size: 64\ncluster: {nodes: 16}\nparallelism: {tp: 2}\n')).toMatchInlineSnapshot(`
    "error[missing-key] at "cluster"
    \`cluster\` needs the key \`gpus_per_node\`. GPUs, and so ranks, a machine.
    = suggestion: Insert \`gpus_per_node: 4\`
      - cluster: {nodes: 16}
      + cluster: {nodes: 16, gpus_per_node: 4}"
  `);
});
