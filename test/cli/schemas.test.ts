import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OUTPUT_NAMES, type OutputName, outputSchema } from '../../cli/outputSchemas';
import { cli } from '../harness/commandLine';
import { flawsBy } from '../harness/schemas';

const EXAMPLES = readdirSync('examples')
  .filter((name) => name.endsWith('.layout.yaml'))
  .map((name) => resolve('examples', name));
const MOE = resolve('examples/moe-64gpu.layout.yaml');

const FILES = {
  'wrong.layout.yaml': 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n',
  'broken.layout.yaml': 'layout: 1\n\tworld_size: 8\n',
  'warned.layout.yaml': 'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nparallelism: {tp: 16}\n',
  'bridge.layout.yaml':
    'layout: 1\nworld_size: 4\nmodules:\n  images: {num_ranks: 4}\n  language: {num_ranks: 4, tp: 4}\n',
  'sequence.layout.yaml':
    'layout: 1\nworld_size: 4\nparallelism: {tp: 2, cp: 2}\nsequence: {seq_length: 8, sequence_parallel: true}\n',
  'ntp.layout.yaml':
    'layout: 1\nworld_size: 16\nparallelism: {tp: 4}\nntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 1}\n',
  'hanging.layout.yaml':
    'layout: 1\nworld_size: 16\nparallelism: {tp: 4}\nntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 1, non_active_ranks_per_dp: {0: [1]}}\n',
  'train.sh': 'torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --unheard-of 3 $MORE\n',
  'other.layout.yaml': 'layout: 1\nworld_size: 8\nparallelism: {tp: 4}\n',
  'four.layout.yaml': 'layout: 1\nworld_size: 4\nparallelism: {tp: 2}\n',
  'none.txt': 'nothing of any framework\n',
  'clusters.yaml': 'clusters:\n  - {name: big, kind: slurm, host: login.example.org, setup: [module load cuda]}\n',
};
const OWN = Object.keys(FILES).filter((name) => name.endsWith('.layout.yaml'));

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-schemas-'));
  for (const [name, text] of Object.entries(FILES)) {
    writeFileSync(join(folder, name), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const outputOf = async (args: readonly string[]) => (await cli(folder, ...args)).stdout;

/** Commands with one JSON value on standard output. */
const RUNS: readonly { readonly command: OutputName; readonly args: readonly string[] }[] = [
  { command: 'check', args: [...EXAMPLES, ...OWN, 'missing.layout.yaml'] },
  { command: 'groups', args: [...EXAMPLES, ...OWN, 'missing.layout.yaml'] },
  { command: 'stages', args: [...EXAMPLES, ...OWN] },
  { command: 'sequence', args: [...EXAMPLES, ...OWN] },
  { command: 'ntp', args: [...EXAMPLES, ...OWN] },
  { command: 'ntp', args: ['--num-shards', '12', '--partition-size', '3', 'ntp.layout.yaml'] },
  { command: 'estimate', args: [...EXAMPLES, ...OWN] },
  { command: 'estimate', args: ['--failed-gpus', '2', MOE] },
  { command: 'plan', args: [MOE] },
  { command: 'resize', args: [MOE, '--without-nodes', '3'] },
  { command: 'plan', args: ['wrong.layout.yaml'] },
  { command: 'import', args: ['train.sh'] },
  { command: 'import', args: ['none.txt'] },
  { command: 'import', args: ['missing.sh'] },
  { command: 'drift', args: ['other.layout.yaml', 'train.sh'] },
  { command: 'drift', args: ['other.layout.yaml'] },
  { command: 'compare', args: ['four.layout.yaml', 'warned.layout.yaml'] },
  { command: 'compare', args: ['four.layout.yaml', 'four.layout.yaml'] },
  { command: 'compare', args: ['four.layout.yaml', 'warned.layout.yaml', '--checkpoint'] },
  { command: 'compare', args: ['four.layout.yaml', 'four.layout.yaml', '--checkpoint', 'torch'] },
  { command: 'explain', args: [] },
  { command: 'explain', args: ['tp'] },
  { command: 'explain', args: ['dense-factorization'] },
  { command: 'explain', args: ['nothing-of-the-kind'] },
];

describe('what a command prints with --format json has its published schema', () => {
  test.each(RUNS)('$command $args', async ({ command, args }) => {
    const value: unknown = JSON.parse(await outputOf([command, '--format', 'json', ...args]));
    expect(flawsBy(outputSchema(command, true), value)).toBe('');
    expect(flawsBy(JSON.parse(readFileSync(`schemas/${command}.schema.json`, 'utf8')), value)).toBe('');
  });

  test('check --statistics', async () => {
    const args = ['check', '--statistics', '--format', 'json', ...EXAMPLES, ...OWN, 'missing.layout.yaml'];
    const value = JSON.parse(await outputOf(args));
    expect(flawsBy(outputSchema('check-statistics', true), value)).toBe('');
    expect(value.map(({ code }: { code: string }) => code)).toContain('dense-factorization');
  });

  test('smoke --dry-run, whose script is that of the text', async () => {
    const args = ['smoke', '--dry-run', '--cluster', 'big', '--clusters', 'clusters.yaml', 'four.layout.yaml'];
    const value = JSON.parse(await outputOf([...args, '--format', 'json']));
    expect(flawsBy(outputSchema('smoke-dry-run', true), value)).toBe('');
    expect(flawsBy(JSON.parse(readFileSync('schemas/smoke-plan.schema.json', 'utf8')), value.plan)).toBe('');
    expect(value).toMatchObject({ cluster: 'big', host: 'login.example.org', world_size: 4, backend: 'nccl' });
    expect(
      value.groups.map(({ kind, groups, ranks }: Record<string, unknown>) => `${kind} ${groups} x ${ranks}`),
    ).toContain('tp 2 x 2');
    expect(value.files.map(({ path }: { path: string }) => path)).toContain('setup.sh');
    expect(value.script.split('\n').length).toBe((await outputOf(args)).split('\n').length);
    expect(JSON.parse(await outputOf([...args, '--format', 'jsonl'])).plan).toEqual(value.plan);
  });

  test('verify, of runs that are healthy, hang, and have other groups', async () => {
    const verdicts = [];
    for (const run of ['healthy-tp2dp2', 'sleep-tp2dp2-r2', 'mapping-pp2dp2']) {
      const path = resolve('test/golden/data/flight', run);
      const text = await outputOf(['verify', '--format', 'json', 'four.layout.yaml', path]);
      const value = JSON.parse(text);
      expect(flawsBy(outputSchema('verify', true), value)).toBe('');
      verdicts.push(value.verdict);
    }
    expect(verdicts).toEqual(['healthy', 'hang', 'wrong-groups']);
  });
});

test('an element of json is a line of jsonl', async () => {
  for (const command of ['check', 'groups', 'stages', 'sequence', 'ntp', 'estimate'] as const) {
    const args = [...EXAMPLES, ...OWN];
    const array: unknown = JSON.parse(await outputOf([command, '--format', 'json', ...args]));
    const lines = (await outputOf([command, '--format', 'jsonl', ...args])).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(array);
  }
});

test.each(OUTPUT_NAMES)(
  'the published schema of %s is that of its description, and allows fields to come',
  (command) => {
    const published = JSON.parse(readFileSync(`schemas/${command}.schema.json`, 'utf8'));
    expect(published).toEqual(outputSchema(command));
    expect(published.title).toMatch(/, version \d+$/);
    expect(JSON.stringify(published)).not.toContain('"additionalProperties":false');
  },
);

test('a schema refuses what lacks a field or has one of another type', () => {
  const good = { file: 'x', ok: true, findings: [] };
  expect(flawsBy(outputSchema('check'), [good])).toBe('');
  expect(flawsBy(outputSchema('check'), [{ ...good, ok: 'yes' }])).toContain('must be boolean');
  expect(flawsBy(outputSchema('check'), [{ file: 'x', ok: true }])).toContain("must have required property 'findings'");
  expect(flawsBy(outputSchema('check', true), [{ ...good, more: 1 }])).toContain('must NOT have additional properties');
});
