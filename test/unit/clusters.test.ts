import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ClusterError, clusterFileSchema, clusterListSchema, KINDS, LOCAL, parseClusters } from '../../client/cluster';

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

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
    for (const field of KINDS.flatMap(({ fields }) => Object.values(fields))) {
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
    [[{ name: 'a', kind: 'local', constructor: 'x' }], /cluster a has no setting constructor/],
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
