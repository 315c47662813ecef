import { expect, test } from 'vitest';
import { readLaunchFile } from '../read';

const read = (lines: readonly string[]) => readLaunchFile('job.yaml', lines.join('\n'), () => null);

/** The values of some keys with their lines: `8 of line 5`. */
function said(lines: readonly string[], ...keys: readonly string[]): string[] {
  const { values } = read(lines);
  return keys.map((key) => {
    const found = values.find((one) => one.key === key);
    return `${found?.value} of ${typeof found?.source === 'object' ? `line ${found.source.line}` : found?.source}`;
  });
}

const KEYS = ['cluster.nodes', 'cluster.gpus_per_node', 'parallelism.tp', 'parallelism.pp'] as const;

test('a PyTorchJob gives torchrun its replicas and processes', () => {
  const pod = (role: string, replicas: number) => [
    `    ${role}:`,
    `      replicas: ${replicas}`,
    '      template:',
    '        spec:',
    '          containers:',
    '          - {name: proxy, command: [], args: null}',
    '          - name: pytorch',
    '            command: [torchrun, pretrain_gpt.py]',
    '            args: [--tensor-model-parallel-size, "4"]',
  ];
  const job = [
    'apiVersion: kubeflow.org/v1',
    'kind: PyTorchJob',
    'spec:',
    '  nprocPerNode: "8"',
    '  pytorchReplicaSpecs:',
  ];
  expect(said([...job, ...pod('Master', 1), ...pod('Worker', 3)], ...KEYS)).toEqual([
    '4 of line 16',
    '8 of line 4',
    '4 of line 14',
    '1 of default',
  ]);
});

test('a TrainJob has its trainer; flags may join their values', () => {
  const job = [
    'apiVersion: trainer.kubeflow.org/v1alpha1',
    'kind: TrainJob',
    'spec:',
    '  trainer:',
    '    numNodes: 2',
    '    numProcPerNode: 4',
    '    command: [torchrun, /w/pretrain_gpt.py]',
    '    args:',
    '    - --tensor-model-parallel-size=2',
    '    - --pipeline-model-parallel-size',
    '    - "2"',
  ];
  expect(said(job, ...KEYS)).toEqual(['2 of line 5', '4 of line 6', '2 of line 9', '2 of line 11']);
});

test('an MPIJob counts workers and slots', () => {
  const job = [
    'apiVersion: kubeflow.org/v2beta1',
    'kind: MPIJob',
    'spec:',
    '  slotsPerWorker: 8',
    '  mpiReplicaSpecs:',
    '    Launcher:',
    '      template:',
    '        spec:',
    '          containers:',
    '          - command: ["mpirun", "python", "pretrain_gpt.py", "--tensor-model-parallel-size", "4"]',
    '    Worker:',
    '      replicas: 2',
  ];
  expect(said(job, ...KEYS)).toEqual(['2 of line 12', '8 of line 4', '4 of line 10', '1 of default']);
});

test('a script in the pods of a JobSet is read with the variables of its container', () => {
  const job = [
    'apiVersion: jobset.x-k8s.io/v1alpha2',
    'kind: JobSet',
    'spec:',
    '  replicatedJobs:',
    '  - name: workers',
    '    template:',
    '      spec:',
    '        template:',
    '          spec:',
    '            containers:',
    '            - env:',
    '              - {name: TP, value: "2"}',
    '              command:',
    '              - bash',
    '              - -c',
    '              - |',
    '                set -e',
    '                torchrun --nnodes 4 --nproc-per-node 8 \\',
    '                  pretrain_gpt.py --tensor-model-parallel-size $TP \\',
    '                  --pipeline-model-parallel-size 2',
  ];
  expect(said(job, ...KEYS)).toEqual(['4 of line 18', '8 of line 18', '2 of line 12', '2 of line 20']);
});

test('other manifests, and pods without a command of training, start nothing', () => {
  const job = ['apiVersion: batch/v1', 'kind: CronJob', 'spec: {}'];
  expect(read(job)).toMatchObject({ family: null, values: [] });
  const idle = [
    'apiVersion: kubeflow.org/v1',
    'kind: TrainJob',
    'spec: {trainer: {numNodes: 2, command: [sleep, "60"]}}',
  ];
  expect(read(idle)).toMatchObject({
    family: null,
    notes: ['The pods of this job start no training of a supported framework.'],
  });
});
