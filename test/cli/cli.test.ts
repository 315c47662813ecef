import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NODE } from '../harness/programs';

const CLI = resolve('dist/cli.js');
const EXAMPLE = resolve('examples/mimo-8gpu.layout.yaml');

let folder = '';
const file = (name: string) => join(folder, name);

interface Done {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command line as a person or a script would. */
function cli(...args: string[]): Promise<Done> {
  return new Promise((done) => {
    const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, NO_COLOR: '1' } };
    const child = execFile(NODE, [CLI, ...args], options, (_, stdout, stderr) =>
      done({ status: child.exitCode ?? -1, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

const lines = (text: string) => text.trimEnd().split('\n');

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-cli-'));
  const files = {
    'good.layout.yaml': 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n',
    'bad.layout.yaml': 'layout: 1\nworld_size: 16\nparallelism:\n  tp: 8\n  pp: 3\n',
    'empty.layout.yaml': '',
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
  writeFileSync(file('binary.layout.yaml'), Buffer.from([0, 1, 2, 255, 254]));
  writeFileSync(file('latin1.layout.yaml'), Buffer.from([0x6c, 0xe9, 0x3a, 0x20, 0x31]));
  writeFileSync(file('huge.layout.yaml'), `# ${'x'.repeat(10 * 1024 * 1024)}\nlayout: 1\n`);
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('check', () => {
  test('is silent about a clean file and exits with 0', async () => {
    const { status, stdout } = await cli('check', 'good.layout.yaml');
    expect(status).toBe(0);
    expect(stdout).toBe('1 file checked: no problems\n');
  });

  test('shows the line with a caret, the predicted error and the fixes, and exits with 1', async () => {
    const { status, stdout } = await cli('check', 'bad.layout.yaml');
    expect(status).toBe(1);
    const [head, , source, caret] = lines(stdout);
    expect(head).toMatch(
      /^bad\.layout\.yaml:5:7: error\[dense-factorization\]: tp 8 x pp 3 = 24 ranks a replica, which does not divide 16\. Use pp 1 or 2\.$/,
    );
    expect(source).toBe('5 |   pp: 3');
    expect(caret).toBe('  |       ^');
    expect(stdout).toContain('= Megatron-LM: world_size (16) is not divisible by 24');
    expect(stdout).toContain('= fix: Change pp to 2');
  });

  test('jsonl prints one object a file, in the form that scripts rely on', async () => {
    const { stdout } = await cli('check', '--format', 'jsonl', 'good.layout.yaml', 'bad.layout.yaml');
    const [good, bad] = lines(stdout).map((line) => JSON.parse(line));
    expect(good).toEqual({ file: 'good.layout.yaml', ok: true, findings: [] });
    expect(bad.ok).toBe(false);
    expect(bad.findings).toHaveLength(1);
    expect(bad.findings[0]).toMatchObject({
      code: 'dense-factorization',
      severity: 'error',
      range: { start: { line: 4, character: 6 }, end: { line: 4, character: 7 } },
      predicts: 'world_size (16) is not divisible by 24',
    });
    expect(bad.findings[0].related[0]).toHaveProperty('range.start.line');
    expect(bad.findings[0].fixes[0]).toMatchObject({ edits: [{ newText: '2' }] });
  });

  test('says which files it cannot use, checks the others, and exits with 2', async () => {
    const names = ['missing.layout.yaml', 'binary.layout.yaml', 'latin1.layout.yaml', 'bad.layout.yaml'];
    const { status, stdout, stderr } = await cli('check', '--format', 'jsonl', ...names);
    expect(status).toBe(2);
    expect(lines(stdout).map((line) => JSON.parse(line).file)).toEqual(names);
    expect(JSON.parse(lines(stdout)[3] ?? '').findings).toHaveLength(1);
    expect(stderr).toContain('missing.layout.yaml: no such file');
    expect(stderr).toContain('binary.layout.yaml: is not a text file');
    expect(stderr).toContain('latin1.layout.yaml: is not UTF-8 text');
  });

  test('answers an empty file and one of ten megabytes', async () => {
    const { status, stdout } = await cli('check', '--format', 'jsonl', 'empty.layout.yaml', 'huge.layout.yaml');
    expect(status).toBe(1);
    const codes = lines(stdout).map((line) => JSON.parse(line).findings.map(({ code }: { code: string }) => code));
    expect(codes).toEqual([['missing-key'], ['file-too-large']]);
  });

  test('github prints workflow commands', async () => {
    const { stdout } = await cli('check', '--format', 'github', 'bad.layout.yaml');
    expect(stdout).toMatch(
      /^::error file=bad\.layout\.yaml,line=5,endLine=5,col=7,endColumn=8,title=dense-factorization::/,
    );
    expect(stdout).toContain('%0AMegatron-LM: ');
  });

  test('sarif prints a log with rules, results and fixes', async () => {
    const { stdout } = await cli('check', '--format', 'sarif', 'bad.layout.yaml', 'missing.layout.yaml');
    const log = JSON.parse(stdout);
    expect(log.version).toBe('2.1.0');
    const [run] = log.runs;
    expect(run.results).toHaveLength(1);
    expect(run.tool.driver.rules[run.results[0].ruleIndex].id).toBe('dense-factorization');
    expect(run.results[0].locations[0].physicalLocation.region).toEqual({
      startLine: 5,
      startColumn: 7,
      endLine: 5,
      endColumn: 8,
    });
    expect(run.results[0].fixes.length).toBeGreaterThan(0);
    expect(run.invocations[0].executionSuccessful).toBe(false);
  });

  test('refuses unknown options with the usage', async () => {
    const { status, stderr } = await cli('check', '--formt', 'json', 'good.layout.yaml');
    expect(status).toBe(2);
    expect(stderr).toContain("unknown option '--formt'");
  });
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
    expect(stderr).toContain('did you mean `tp`?');
  });

  test('refuses a layout with errors', async () => {
    const { status, stdout } = await cli('groups', '--format', 'jsonl', 'bad.layout.yaml');
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, groups: [] });
  });

  test('prints groups of more than one rank, and names the others', async () => {
    expect(await cli('groups', 'good.layout.yaml')).toMatchInlineSnapshot(`
      {
        "status": 0,
        "stderr": "",
        "stdout": "good.layout.yaml: 8 ranks
      dp_cp: 2 x 4
        [0, 2, 4, 6]
        [1, 3, 5, 7]
      dp: 2 x 4
        [0, 2, 4, 6]
        [1, 3, 5, 7]
      mp: 4 x 2
        [0, 1]
        [2, 3]
        [4, 5]
        [6, 7]
      tp: 4 x 2
        [0, 1]
        [2, 3]
        [4, 5]
        [6, 7]
      tp_dp_cp: 1 x 8
        [0, 1, 2, 3, 4, 5, 6, 7]
      tp_dp: 1 x 8
        [0, 1, 2, 3, 4, 5, 6, 7]
      tp_cp: 4 x 2
        [0, 1]
        [2, 3]
        [4, 5]
        [6, 7]
      ep_tp: 4 x 2
        [0, 1]
        [2, 3]
        [4, 5]
        [6, 7]
      tp_ep_mp: 4 x 2
        [0, 1]
        [2, 3]
        [4, 5]
        [6, 7]
      tp_ep_pp: 4 x 2
        [0, 1]
        [2, 3]
        [4, 5]
        [6, 7]
      tp_ep_gtp_remat_pp: 4 x 2
        [0, 1]
        [2, 3]
        [4, 5]
        [6, 7]
      ep_dp: 2 x 4
        [0, 2, 4, 6]
        [1, 3, 5, 7]
      intra_dist_opt_instance: 1 x 8
        [0, 1, 2, 3, 4, 5, 6, 7]
      groups of one rank: gtp_remat, cp, pp, embd, pos_embd, expt_gtp_remat, ep; --all lists them
      ",
      }
    `);
    const { stdout } = await cli('groups', '--all', 'good.layout.yaml');
    expect(lines(stdout)).toEqual(expect.arrayContaining(['cp: 8 x 1', 'pp: 8 x 1']));
    expect((await cli('groups', '--group', 'pp', 'good.layout.yaml')).stdout).toContain('pp: 8 x 1');
  });

  test('answers where an error is of the model, and says so', async () => {
    const { status, stdout, stderr } = await cli('groups', '--group', 'tp', 'heads.layout.yaml');
    expect(status).toBe(1);
    expect(stderr).toBe(
      'parallelism-layout: heads.layout.yaml: the layout has errors, which `parallelism-layout check` shows; its process groups do not depend on them\n',
    );
    expect(stdout).toContain('tp: 4 x 2\n');
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
    expect(await cli('ntp', 'good.layout.yaml')).toMatchInlineSnapshot(`
      {
        "status": 1,
        "stderr": "parallelism-layout: good.layout.yaml: the file has no \`ntp\`. Write \`ntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 1}\` to leave out one slot of the first replica; \`parallelism-layout explain ntp\` says more
      ",
        "stdout": "",
      }
    `);
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
    expect({ status, ...JSON.parse(stdout) }).toEqual({ status: 1, file: 'chunks.layout.yaml', ok: false, stages });
    expect(stderr).toContain('chunks.layout.yaml: no stage holds t1; several stages hold t0\n');
  });

  test('explain prints the page of a rule, and corrects a misspelt one', async () => {
    expect((await cli('explain', 'world-gap')).stdout).toMatch(/^# world-gap\n/);
    const { status, stderr } = await cli('explain', 'wrld-gap');
    expect(status).toBe(2);
    expect(stderr).toContain('did you mean `world-gap`?');
  });

  test('explain says what a key and a process group of one name mean', async () => {
    expect((await cli('explain', 'ep')).stdout).toBe(`# Key ep

Expert-parallel size: over how many ranks the experts of an MoE layer are spread.

- type: whole number from 1
- default: \`1\`
- Megatron-LM: \`--expert-model-parallel-size\`
- written as: \`parallelism.ep\`, \`modules.<name>.ep\`, \`phases.<name>.ep\`

# Process group ep

- spans: ep
- carries: tokens to their experts: all-to-all
- exists: always
- in logs and traces: \`EXPERT_MODEL_PARALLEL_GROUP\`
`);
  });

  test.each([
    ['cluster.nodes', '# Key nodes\n'],
    ['--context-parallel-size', '# Key cp\n'],
    ['pipeline_model_parallel_size', '# Key pp\n'],
    ['seqlen', '# Key seq_length\n'],
    ['dp_cp', '# Process group dp_cp\n'],
    ['dynamic_dp_cp_8', '# Process group dynamic_dp_cp_8\n'],
  ])('explain knows %s', async (name, title) => {
    const { status, stdout } = await cli('explain', name);
    expect(status).toBe(0);
    expect(stdout.startsWith(title)).toBe(true);
  });

  test.each([
    ['micro_batch_sise', '`micro_batch_size`'],
    ['intra_dp_pc', '`intra_dp_cp`'],
  ])('explain corrects %s', async (name, near) => {
    const { status, stderr } = await cli('explain', name);
    expect(status).toBe(2);
    expect(stderr).toBe(
      `parallelism-layout: there is no rule, key or process group \`${name}\`; did you mean ${near}?\n`,
    );
  });
});
