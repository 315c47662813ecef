import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { computingTime } from '../test/harness/computing';
import { CLUSTER_KINDS, ClusterError, clusterFileSchema, clusterListSchema, LOCAL, parseClusters } from '.';
import { readClusterFile } from './clusterFile';

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

test('the schemas use no class of characters that validators in Python lack', () => {
  const names = readdirSync('schemas').filter((name) => name.endsWith('.json'));
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => /\\p\{/i.test(readFileSync(`schemas/${name}`, 'utf8')))).toEqual([]);
});

describe('the schema of clusters', () => {
  const { contributes, capabilities } = read('package.json');
  const setting = contributes.configuration.properties['parallelismLayout.clusters'];

  test('in the manifest and in schemas/ is the one that the settings are read by', () => {
    expect(setting).toMatchObject(clusterListSchema());
    expect(read('schemas/clusters.schema.json')).toEqual(clusterFileSchema());
  });

  test('is of settings that a workspace cannot set, nor a workspace that is not trusted', () => {
    expect(setting.scope).toBe('machine');
    expect(capabilities.untrustedWorkspaces.restrictedConfigurations).toContain('parallelismLayout.clusters');
  });

  test('describes every field, and says of every pattern what fits it', () => {
    for (const field of CLUSTER_KINDS.flatMap(({ fields }) => Object.values(fields))) {
      expect(field.description).toMatch(/\.$/);
      const text = field.type === 'array' ? field.items : field;
      expect('pattern' in text, field.description).toBe('patternErrorMessage' in text);
    }
  });
});

describe('a list of clusters', () => {
  test('always has this machine, under its own settings where they are there', () => {
    expect(parseClusters([])).toEqual([LOCAL]);
    const own = { name: 'local', kind: 'local', python: '/opt/python' };
    expect(parseClusters([own])).toEqual([own]);
  });

  test.each([
    [{ name: 'a' }, /must be a list/],
    [['a'], /cluster 1 is not a map/],
    [[{ kind: 'local' }], /cluster 1: name must be of letters/],
    [[{ name: '-a', kind: 'local' }], /cluster 1: name must be of letters/],
    [[{ name: 'a', kind: 'moon' }], /cluster a has the kind moon; known kinds: local/],
    [[{ name: 'a', kind: 'local', partition: 'x' }], /cluster a has no setting partition/],
    [[{ name: 'a', kind: 'local', constructor: 'x' }], /cluster a has no setting constructor$/],
    [[{ name: 'a', kind: 'slurm', partitoin: 'x' }], /cluster a has no setting partitoin; did you mean partition\?$/],
    [[{ name: 'a', kind: 'local', backend: 'mpi' }], /backend must be one of auto, nccl, gloo/],
    [
      [
        { name: 'a', kind: 'local' },
        { name: 'a', kind: 'local' },
      ],
      /two clusters are called a/,
    ],
  ])('%j is refused', (value, why) => {
    expect(() => parseClusters(value)).toThrow(ClusterError);
    expect(() => parseClusters(value)).toThrow(why);
  });
});

describe('a cluster of Slurm', () => {
  const slurm = (settings: object) => parseClusters([{ name: 'a', kind: 'slurm', ...settings }])[1];

  test('is read with all its settings', () => {
    const settings = {
      host: 'ssh://me@login.example.org:2222',
      partition: 'gpu,gpu-long',
      account: 'project_1',
      qos: 'high',
      reservation: 'maintenance.1',
      constraint: '[h200&ib]|h100*2',
      time: '1-02:03:04',
      nodes: 2,
      ranks_per_node: 8,
      gpus_per_node: 0,
      container_image: 'nvcr.io#nvidia/pytorch:25.04-py3',
      container_mounts: ['/data:/data:ro', '/scratch'],
      setup: ['module load cuda', 'export A="b c"'],
      python: '~/venv/bin/python',
      referee_python: 'python3.11',
      work_directory: '~/my runs',
      options: ['--mem=0', '--exclusive', '--gres=gpu:h200:8'],
      backend: 'nccl',
    };
    expect(slurm(settings)).toEqual({ name: 'a', kind: 'slurm', ...settings });
  });

  const never = ['', 'a\0b', 'a\nb', 'a\rb', 'a\u2028b', '\u0007', '\ud800', '-oProxyCommand=x', 7, null, {}, ['a']];
  const words = [...never, 'a b', 'a;b', 'a$(b)', 'a`b`', "a'b", 'a"b', 'a|b>c', 'a\\b', 'é', '漢'];
  test.each([
    ['host', [...words, 'a:22', 'a@b@c', 'ssh://', 'a/b', '%h', 'a,b']],
    ['partition', [...words, 'a/b', 'a=b']],
    ['account', [...words, '*']],
    ['qos', words],
    ['reservation', words],
    ['constraint', [...words, 'a=b']],
    ['time', [...words, 'UNLIMITED', 'now+1', '1:2:3:4', '-1']],
    ['python', [...never, ' python']],
    ['referee_python', never],
    ['container_image', never],
    ['work_directory', [...never, 'relative', '~root/x', '/a%jb', '/a\\b']],
    ['backend', [...words, 'mpi']],
    ['nodes', [0, 1.5, '2', Number.NaN, null, [2]]],
    ['ranks_per_node', [0, -1, '8', 1e9]],
    ['gpus_per_node', [-1, '8']],
    ['container_mounts', ['/a', ['a'], ['/a,/b'], ['/a:/b:rw,x'], ['-a'], ['/a\nb'], ['/a\0'], [7], [[]]]],
    ['setup', ['true', ['a\nb'], ['a\0'], ['a\u2028b'], [7]]],
    [
      'options',
      [
        ...['--mem=0', ['--wrap=true'], ['--wra=true'], ['-n4'], ['4'], ['--output=/etc/x'], ['--export=NONE']],
        ...[
          ['--array=1-3'],
          ['--uid=0'],
          ['--mem=0\n--wrap=x'],
          ['--mem 0'],
          ['--mem='],
          ['--chdir=/'],
          ['--parsable'],
        ],
        ...[['--mem=\0'], ['--exclusive', 7], ['--ntasks=1'], ['--time=1'], ['--signal=1'], ['--wait'], ['--bb=x']],
      ],
    ],
  ])('refuses every %s that is no plain value', (key, values) => {
    for (const value of values) {
      expect(() => slurm({ [key]: value }), JSON.stringify(value)).toThrow(`cluster a: ${key} `);
    }
  });
});

test.each([
  [
    'aliases of aliases',
    `a: &a [x, x]\n${Array.from({ length: 20 }, (_, i) => `b${i}: &b${i} [${`*${i === 0 ? 'a' : `b${i - 1}`}, `.repeat(9)}]\n`).join('')}clusters: *b19\n`,
  ],
  ['nesting', `clusters: ${'['.repeat(100_000)}`],
  ['closing brackets', ']'.repeat(200_000)],
  ['anchors', '&a '.repeat(80_000)],
  ['tags', `a: ${'! '.repeat(100_000)}`],
  ['line ends', `a: "${'\\\n'.repeat(100_000)}"`],
  ['merge keys', `a: &a {b: 1}\nc: {${'<<: *a, '.repeat(3_000)}}\n`],
  ['a key twice', 'clusters:\n  - {name: a, kind: local, name: b}\n'],
])('a cluster file with %s is refused by its name', (_, text) => {
  const folder = mkdtempSync(join(tmpdir(), 'clusters-'));
  const file = join(folder, 'clusters.yaml');
  try {
    writeFileSync(file, text);
    const began = computingTime();
    expect(() => readClusterFile(file)).toThrow(
      expect.toSatisfy((error) => error instanceof ClusterError && error.message.includes(file)),
    );
    expect(computingTime() - began).toBeLessThan(2_000);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
