import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli as run } from '../harness/commandLine';

const EXAMPLE = resolve('examples/mimo-8gpu.layout.yaml');

let folder = '';
const file = (name: string) => join(folder, name);
const cli = (...args: string[]) => run(folder, ...args);

const lines = (text: string) => text.trimEnd().split('\n');

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-cli-'));
  const files = {
    'good.layout.yaml': 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n',
    'placed.layout.yaml': 'layout: 1\nworld_size: 16\ncluster: {nodes: 4, gpus_per_node: 4}\nparallelism: {tp: 2}\n',
    'bad.layout.yaml': 'layout: 1\nworld_size: 16\nparallelism:\n  tp: 8\n  pp: 3\n',
    'heads.layout.yaml':
      'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nmodel: {num_layers: 2, hidden_size: 64, num_attention_heads: 5}\n',
    'bridge.layout.yaml':
      'layout: 1\nworld_size: 4\nmodules:\n  images: {num_ranks: 4}\n  language: {num_ranks: 4, tp: 4}\n',
    'sequence.layout.yaml':
      'layout: 1\nworld_size: 4\nparallelism: {tp: 2, cp: 2}\nsequence: {seq_length: 8, sequence_parallel: true}\n',
    'vast.layout.yaml':
      'layout: 1\nworld_size: 1073741824\nparallelism: {tp: 8}\nntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 134217728}\n',
    'vast-whole.layout.yaml': 'layout: 1\nworld_size: 1073741824\nparallelism: {tp: 8}\n',
    'big.layout.yaml': 'layout: 1\nworld_size: 131072\nparallelism: {tp: 8, pp: 16, cp: 2, ep: 8}\n',
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(file(name), text);
  }
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ['groups', 'vast-whole.layout.yaml'],
  ['ntp', 'vast.layout.yaml'],
])('%s refuses a world of which the ranks cannot be listed', async (command, name) => {
  const { status, stderr } = await cli(command, '--format', 'jsonl', name);
  expect(status).toBe(2);
  expect(stderr).toContain('1,073,741,824 ranks');
});

describe('groups', () => {
  test('prints every group in creation order', async () => {
    const { status, stdout } = await cli('groups', '--format', 'jsonl', EXAMPLE);
    expect(status).toBe(0);
    const { ok, world_size, groups } = JSON.parse(stdout);
    expect({ ok, world_size }).toEqual({ ok: true, world_size: 8 });
    expect(groups[0]).toEqual({
      name: 'tp',
      module: 'images',
      ranks: [
        [0, 1],
        [2, 3],
      ],
    });
    expect(groups.at(-1)).toEqual({ name: 'pos_embd', module: 'language', ranks: [[4], [5]] });
  });

  test('narrows to one group and one rank', async () => {
    const { stdout } = await cli('groups', '--format', 'jsonl', '--group', 'pp', '--rank', '6', EXAMPLE);
    expect(JSON.parse(stdout).groups).toEqual([{ name: 'pp', module: 'language', ranks: [[4, 6]] }]);
  });

  test('gives bridges with direction and scale', async () => {
    const { stdout } = await cli('groups', '--format', 'jsonl', '--group', 'bridge', 'bridge.layout.yaml');
    expect(JSON.parse(stdout).groups).toEqual([
      { name: 'bridge', module: 'images', direction: 'fan_in', scale: 4, ranks: [[0, 1, 2, 3]] },
    ]);
  });

  test('names the groups there are when asked for another', async () => {
    const { status, stderr } = await cli('groups', '--group', 'tpp', 'good.layout.yaml');
    expect(status).toBe(2);
    expect(stderr).toContain('did you mean tp?');
  });

  test('refuses a layout with errors', async () => {
    const { status, stdout } = await cli('groups', '--format', 'jsonl', 'bad.layout.yaml');
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, groups: [] });
  });

  test('prints a line for each kind of more than one rank, and names the others', async () => {
    const others = 'groups of one rank: gtp_remat, cp, ';
    const { status, stdout } = await cli('groups', 'placed.layout.yaml');
    expect(status).toBe(0);
    expect(lines(stdout).slice(0, 5)).toEqual([
      'placed.layout.yaml: 16 ranks on 4 nodes of 4 GPUs',
      '  group                                                               groups  ranks  cross nodes',
      '  dp = dp_cp = ep_dp                                                       2      8            2',
      '  tp = mp = tp_cp = ep_tp = tp_ep_mp = tp_ep_pp = tp_ep_gtp_remat_pp       8      2            0',
      '  tp_dp = tp_dp_cp = intra_dist_opt_instance                               1     16            1',
    ]);
    expect(stdout).toContain(`\n\n${others}`);
    expect(stdout).toMatch(/, ep; --all lists them\n$/);
  });

  test('says what ranks send under all names of their groups, the most first', async () => {
    const { stdout } = await cli('groups', resolve('examples/moe-64gpu.layout.yaml'));
    const [, head = '', ...rows] = lines(stdout);
    expect(head).toMatch(/ {2}cross nodes {2}a rank sends$/);
    expect(rows.slice(0, 3).map((row) => row.trim().split(/ {2,}/).at(0))).toEqual([
      'tp = ep = tp_cp = tp_ep_mp',
      'dp = dp_cp = ep_dp',
      'pp',
    ]);
    expect(stdout).toMatch(/\n {2}a rank sends [\d.]+ GB over NVLink, [\d.]+ GB over the network in a step\n/);
  });

  test('lists ranks with --ranks, or of the groups of one name or rank', async () => {
    const { stdout } = await cli('groups', '--ranks', 'good.layout.yaml');
    expect(stdout).toContain('good.layout.yaml: 8 ranks\ndp_cp: 2 x 4\n  [0, 2, 4, 6]\n  [1, 3, 5, 7]\ndp: 2 x 4\n');
    const all = await cli('groups', '--all', '--ranks', 'good.layout.yaml');
    expect(lines(all.stdout)).toEqual(expect.arrayContaining(['cp: 8 x 1', 'pp: 8 x 1']));
    expect((await cli('groups', '--group', 'pp', 'good.layout.yaml')).stdout).toContain('pp: 8 x 1');
    expect((await cli('groups', '--group', 'tp', '--rank', '3', 'good.layout.yaml')).stdout).toBe(
      'good.layout.yaml: 8 ranks\ntp: 4 x 2\n  [2, 3]\n',
    );
  });

  test('does not say what crosses nodes where the layout names no nodes', async () => {
    const { stdout } = await cli('groups', 'good.layout.yaml');
    expect(lines(stdout)[1]).toMatch(/^ +group +groups +ranks$/);
  });

  test('answers where an error is of the model, and says so', async () => {
    const { status, stdout, stderr } = await cli('groups', '--group', 'tp', 'heads.layout.yaml');
    expect(status).toBe(1);
    expect(stderr).toBe(
      "parallelism-layout: heads.layout.yaml: 'parallelism-layout check' shows errors that do not change the process groups below\n",
    );
    expect(stdout).toContain('tp: 4 x 2\n  [0, 1]\n');
    const json = await cli('groups', '--format', 'jsonl', 'heads.layout.yaml');
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, groups: [] });
  });

  test('prints a world of 131,072 ranks', async () => {
    const { stdout } = await cli('groups', '--format', 'jsonl', '--group', 'tp', 'big.layout.yaml');
    expect(JSON.parse(stdout).groups[0].ranks).toHaveLength(16384);
  });
});

describe('sequence, ntp, explain', () => {
  test('sequence prints who holds which tokens', async () => {
    const { stdout } = await cli('sequence', '--format', 'jsonl', 'sequence.layout.yaml');
    expect(JSON.parse(stdout)).toMatchObject({
      file: 'sequence.layout.yaml',
      ok: true,
      ranks: [
        {
          cp_rank: 0,
          tp_rank: 0,
          embeddings: [[0, 2]],
          labels: [
            [0, 2],
            [6, 8],
          ],
        },
        { cp_rank: 0, tp_rank: 1, embeddings: [[6, 8]] },
        { cp_rank: 1, tp_rank: 0, embeddings: [[2, 4]], labels: [[2, 6]] },
        { cp_rank: 1, tp_rank: 1, embeddings: [[4, 6]] },
      ],
    });
  });

  test('ntp prints spares, groups and splits', async () => {
    const args = ['ntp', '--format', 'jsonl', '--num-shards', '48', '--partition-size', '768'];
    const { stdout } = await cli(...args, resolve('examples/ntp-64gpu.layout.yaml'));
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ ok: true, tp_spares: 2, spares: [6, 7], dp_sync_conflicts: [] });
    expect(report.groups).toEqual([{ name: 'tp', ranks: [0, 1, 2, 3, 4, 5] }]);
    expect(report.send_splits[6]).toEqual([128, 128, 128, 128, 128, 128, 0, 0]);
  });

  test('ntp says what to write where a file has none', async () => {
    expect(await cli('ntp', 'good.layout.yaml')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        "parallelism-layout: good.layout.yaml: the file has no ntp. Write 'ntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 1}' to leave out one slot of the first replica; 'parallelism-layout explain ntp' says more\n",
    });
  });

  test('stages prints what a pipeline with errors holds, and names the layers that are lost', async () => {
    writeFileSync(
      file('chunks.layout.yaml'),
      'layout: 1\nworld_size: 1\nparallelism: {pp: 1, pipeline_model_parallel_layout: Et|tL}\n',
    );
    const { status, stdout, stderr } = await cli('stages', '--format', 'jsonl', 'chunks.layout.yaml');
    const stages = [
      ['embedding', 't0'],
      ['t0', 'loss'],
    ].map((layers, vpp) => ({ module: null, pp: 0, vpp, layers }));
    const error = 'chunks.layout.yaml: no stage holds t1; several stages hold t0';
    expect({ status, ...JSON.parse(stdout) }).toEqual({
      status: 1,
      file: 'chunks.layout.yaml',
      ok: false,
      stages,
      error,
    });
    expect(stderr).toContain('chunks.layout.yaml: no stage holds t1; several stages hold t0\n');
  });

  test.each([
    ['world-gap', '# world-gap\n'],
    ['cluster.nodes', '# Key nodes\n'],
    ['--context-parallel-size', '# Key cp\n'],
    ['--context-parallel-size=2', '# Key cp\n'],
    ['--fp16', '# Key params_dtype\n'],
    ['--nnodes', '# Key nodes\n'],
    ['gpu', '# Key gpu\n'],
    ['pipeline_model_parallel_size', '# Key pp\n'],
    ['seqlen', '# Key seq_length\n'],
    ['actor_rollout_ref.rollout.n=8', '`actor_rollout_ref.rollout.n` is `rl.samples_per_prompt` of a layout.\n'],
    ['--parallelism.tensor_parallel_degree', '# Key tp\n'],
    ['dp_cp', '# Process group dp_cp\n'],
    ['dynamic_dp_cp_8', '# Process group dynamic_dp_cp_8\n'],
  ])('explain knows %s', async (name, title) => {
    const { status, stdout } = await cli('explain', name);
    expect(status).toBe(0);
    expect(stdout.startsWith(title)).toBe(true);
  });

  test.each([
    ['wrld-gap', 'world-gap'],
    ['micro_batch_sise', 'micro_batch_size'],
    ['intra_dp_pc', 'intra_dp_cp'],
  ])('explain corrects %s', async (name, near) => {
    const { status, stderr } = await cli('explain', name);
    expect(status).toBe(2);
    expect(stderr).toBe(
      `parallelism-layout: there is no rule, key or process group '${name}'; did you mean ${near}?\n`,
    );
  });

  test.each([
    [
      '--tensor-model-paralel-size',
      "no key is read from the flag '--tensor-model-paralel-size'; did you mean --tensor-model-parallel-size?",
    ],
    [
      '--pipeline-model-paralel-size=4',
      "no key is read from the flag '--pipeline-model-paralel-size'; did you mean --pipeline-model-parallel-size?",
    ],
    ['--lr', "the flag '--lr' says nothing about the layout: no key is read from it"],
    ['trainer.logger', "the option 'trainer.logger' says nothing about the layout: no key is read from it"],
  ])('explain says why the flag %s has no page', async (flag, why) => {
    expect(await cli('explain', flag)).toEqual({ status: 2, stdout: '', stderr: `parallelism-layout: ${why}\n` });
  });
});
