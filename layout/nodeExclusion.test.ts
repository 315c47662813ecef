import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { validate } from '../test/harness/kubernetesSchemas';
import { askedFor, nodeExclusion, nodeNames } from './nodeExclusion';

describe('names of nodes', () => {
  test.each([
    ['gpu3', ['gpu3']],
    ['gpu[003,017-019],login1.example.org', ['gpu003', 'gpu017', 'gpu018', 'gpu019', 'login1.example.org']],
    ['rack1-[08-11]-ib', ['rack1-08-ib', 'rack1-09-ib', 'rack1-10-ib', 'rack1-11-ib']],
    ['a, b,a', ['a', 'b']],
  ])('%s', (list, names) => expect(nodeNames(list)).toEqual(names));

  test.each(['', 'gpu[3', 'gpu[5-3]', 'a b', 'x;reboot', '$(id)', 'gpu[0-999999999]', 'a,,b', '-x'])(
    '%j is no list of nodes',
    (list) => expect(nodeNames(list)).toBeNull(),
  );
});

test('each scheduler is told in its own words', () => {
  const { slurm, kubernetes } = nodeExclusion(['gpu003', 'gpu017']);
  expect(slurm).toBe('--exclude=gpu003,gpu017');
  expect(parse(kubernetes)).toEqual({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['gpu003', 'gpu017'] }] },
          ],
        },
      },
    },
  });
});

test('the field fits the published schema of a pod, in a Job', () => {
  const affinity = parse(nodeExclusion(['gpu003', 'gpu017']).kubernetes);
  const job = (extra: object) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'train' },
    spec: {
      template: {
        spec: { restartPolicy: 'Never', containers: [{ name: 'train', image: 'training:1' }], ...extra },
      },
    },
  });
  expect(() => validate(job(affinity))).not.toThrow();
  // the schema looks into the field
  expect(() =>
    validate(job({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } })),
  ).toThrow(/nodeSelectorTerms/);
});

describe('a script that names nodes itself', () => {
  const script = '#SBATCH --nodes=2-4\n#SBATCH -w gpu[001-004]\n#SBATCH --exclude=gpu[003,017]\nsrun train\n';

  test('what it excludes stays excluded, as an option takes the place of its own', () => {
    expect(nodeExclusion(['gpu002', 'gpu003'], [script]).slurm).toBe('--exclude=gpu002,gpu003,gpu017');
    expect(nodeExclusion(['gpu002'], [script]).kubernetes).toBe(nodeExclusion(['gpu002']).kubernetes);
  });

  test('a node that it asks for cannot be excluded', () => {
    expect(askedFor(['gpu004', 'gpu005'], [script])).toEqual(['gpu004']);
    expect(askedFor(['gpu004'], ['#SBATCH --nodelist=$NODES\n', 'srun train\n'])).toEqual([]);
  });
});
