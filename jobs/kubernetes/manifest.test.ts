import { gunzipSync } from 'node:zlib';
import { PodTemplateSpec } from 'kubernetes-models/v1';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { find, podTemplates, validate } from '../../test/harness/kubernetesSchemas';
import { planOf as planOfText } from '../../test/harness/layouts';
import { ClusterError, EnvironmentError, parseClusters, type SmokePlan } from '..';
import { ENGINES, type Engine, GANGS, type KubernetesCluster } from './kubernetesFields';
import { LogReader } from './logs';
import { ENGINE_TABLE, INSTANCE_LABEL, manifestOf, manifestText, partsOf, runName } from './manifest';
import { isSuspended, lastEvent, podsText, readPods } from './pods';

type Loose = Record<string, unknown>;

const PYTHON = { 'smoke_job.py': 'print("$(RANK)")\n', 'rank.py': '# é\n' };

const FULL: KubernetesCluster = {
  name: 'k',
  kind: 'kubernetes',
  image: 'registry.example.org:5000/team/torch:2.7@sha256:'.concat('a'.repeat(64)),
  context: 'admin@dev',
  namespace: 'training',
  gpus_per_node: 4,
  gpu_resource: 'amd.com/gpu',
  resources: ['cpu=32', 'memory=256Gi', 'rdma/hca=4'],
  shared_memory: '8Gi',
  node_selector: ['pool=h100', 'example.org/rack='],
  tolerations: ['nvidia.com/gpu:NoSchedule', 'team=vision:NoExecute', 'anything'],
  capabilities: ['IPC_LOCK', 'SYS_PTRACE'],
  volumes: ['datasets:/data:ro', '/local/scratch:/scratch'],
  network: 'host',
  scheduler: 'volcano',
  queue: 'gpu-queue',
  priority_class: 'high',
  runtime_class: 'nvidia',
  service_account: 'trainer',
  image_pull_secret: 'registry',
  annotations: ['k8s.v1.cni.cncf.io/networks=default/roce'],
  env: ['NCCL_DEBUG=WARN', 'PATHS=$(HOME) $$ "quoted" \'single\' `tick` -x ; é'],
  python: '/opt/my env/$(x)/python',
};

const LEAST: KubernetesCluster = { name: 'k', kind: 'kubernetes', image: 'torch' };

const planOf = (world: number, more = '') =>
  planOfText(`layout: 1\nworld_size: ${world}\nparallelism: {tp: 2}\n${more}`, 'x.layout.yaml', 'auto');

function make(engine: Engine, cluster = FULL, plan = planOf(10), files: Readonly<Record<string, string>> = PYTHON) {
  return manifestOf({ plan, cluster, backend: 'nccl', engine, name: 'smoke-x-0a1b2c', token: 'secret', files });
}

function pods(engine: Engine, cluster = FULL, plan = planOf(10)): Loose[] {
  return make(engine, cluster, plan).objects.flatMap(podTemplates);
}

function container(engine: Engine, cluster = FULL, plan = planOf(10)): Loose {
  return find(pods(engine, cluster, plan)[0], 'containers').flat()[0] as Loose;
}

describe.each(ENGINES)('the manifest for %s', (engine) => {
  test.each([
    ['all settings', FULL],
    ['the image alone', LEAST],
  ])('fits the published schemas of its kinds, with %s', (_, cluster) => {
    const { objects } = make(engine, cluster);
    for (const object of objects) {
      validate(object);
    }
    expect(pods(engine, cluster).length).toBeGreaterThan(0);
  });

  test('would not fit them with a field of another name or type', () => {
    const job = make(engine).objects.at(-1) ?? { kind: '' };
    const { spec } = job as { spec?: Loose };
    expect(() =>
      validate({ ...job, spec: { ...spec, template: 7, runPolicy: 7, replicatedJobs: 7, runtimeRef: 7 } } as never),
    ).toThrow();
    expect(() => new PodTemplateSpec({ spec: { containers: [{ name: 7 }] } } as never).validate()).toThrow();
  });

  test('is the same after kubectl has read it', () => {
    const { objects } = make(engine);
    const read = parseAllDocuments(manifestText(objects)).map((one) => one.toJS());
    expect(read).toEqual(JSON.parse(JSON.stringify(objects)));
  });

  test('has a pod for each node, of which the last may be half full', () => {
    const { pods: count } = make(engine);
    expect(count).toBe(3);
    const numbers = (key: string) => find(make(engine).objects, key) as number[];
    if (engine === 'pytorchjob') {
      expect(numbers('replicas').reduce((sum, one) => sum + one)).toBe(3);
    } else {
      expect([...numbers('parallelism'), ...numbers('completions'), ...numbers('numNodes')]).toEqual(
        engine === 'trainjob' ? [3, 3, 3, 3] : [3, 3],
      );
    }
    expect(make(engine, { ...LEAST }, planOf(2)).pods).toBe(1);
  });

  test('tells every pod where the first is, by the name that the engine gives it', () => {
    const { command } = container(engine) as { command: string[] };
    const option = (name: string) => command[command.indexOf(name) + 1];
    expect(option('--referee')).toBe(ENGINE_TABLE[engine].host('smoke-x-0a1b2c'));
    expect(option('--index')).toBe(engine === 'pytorchjob' ? '$(RANK)' : '$(JOB_COMPLETION_INDEX)');
    expect(option('--ranks-per-pod')).toBe('4');
    for (const label of ENGINE_TABLE[engine].host(`smoke-${'x'.repeat(16)}-0a1b2c`).split('.')) {
      expect(label).toMatch(/^[a-z0-9-]{1,63}$/);
    }
  });

  test('hands over values as they are written, which Kubernetes would else expand', () => {
    const { command, env } = container(engine) as { command: string[]; env: { name: string; value: string }[] };
    expect(command[0]).toBe('/opt/my env/$$(x)/python');
    const value = env.find(({ name }) => name === 'PATHS')?.value ?? '';
    expect(value).toBe('$$(HOME) $$$$ "quoted" \'single\' `tick` -x ; é');
    expect(value.replaceAll('$$', '$')).toBe('$(HOME) $$ "quoted" \'single\' `tick` -x ; é');
  });

  test('carries every setting', () => {
    const spec = find(pods(engine)[0], 'spec')[0];
    expect(spec).toMatchObject({
      nodeSelector: { pool: 'h100', 'example.org/rack': '' },
      tolerations: [
        { key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'team', operator: 'Equal', value: 'vision', effect: 'NoExecute' },
        { key: 'anything', operator: 'Exists' },
      ],
      serviceAccountName: 'trainer',
      imagePullSecrets: [{ name: 'registry' }],
      runtimeClassName: 'nvidia',
      priorityClassName: 'high',
      schedulerName: 'volcano',
      hostNetwork: true,
      dnsPolicy: 'ClusterFirstWithHostNet',
    });
    expect(container(engine)).toMatchObject({
      securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ['IPC_LOCK', 'SYS_PTRACE'] } },
      volumeMounts: expect.arrayContaining([
        { name: 'volume-0', mountPath: '/data', readOnly: true },
        { name: 'volume-1', mountPath: '/scratch', readOnly: false },
      ]),
    });
    expect(spec).toMatchObject({
      volumes: expect.arrayContaining([
        { name: 'volume-0', persistentVolumeClaim: { claimName: 'datasets', readOnly: true } },
        { name: 'volume-1', hostPath: { path: '/local/scratch', type: 'Directory' } },
      ]),
    });
    const limits = { cpu: '32', memory: '256Gi', 'rdma/hca': '4', 'amd.com/gpu': '4' };
    expect(container(engine)).toMatchObject({ image: FULL.image, resources: { limits, requests: limits } });
    expect(find(spec, 'emptyDir')).toEqual([{ medium: 'Memory', sizeLimit: '8Gi' }]);
    const job = make(engine).objects.at(-1);
    expect(job?.metadata).toMatchObject({
      namespace: 'training',
      labels: { 'kueue.x-k8s.io/queue-name': 'gpu-queue' },
    });
    // a queue admits the job, not what the job needs
    expect(find(make(engine).objects, 'kueue.x-k8s.io/queue-name')).toHaveLength(1);
    expect(find(pods(engine)[0], 'k8s.v1.cni.cncf.io/networks')).toEqual(['default/roce']);
  });

  test('ends by itself when nobody follows it, and never before the job can name a fault', () => {
    const plan = planOf(10, 'smoke: {timeout: 600s}\n');
    const total = plan.limits.total ?? 0;
    expect(total).toBeGreaterThan(600);
    for (const limit of find(make(engine, FULL, plan).objects, 'activeDeadlineSeconds') as number[]) {
      expect(limit).toBeGreaterThanOrEqual(total + 120);
    }
    expect(find(pods(engine, FULL, plan), 'activeDeadlineSeconds')).not.toEqual([]);
    expect(find(make(engine).objects, 'ttlSecondsAfterFinished')).toEqual([600]);
    expect(new Set(find(make(engine).objects, 'backoffLimit'))).toEqual(new Set([0]));
  });

  test('asks for no GPU where gloo runs on the CPU', () => {
    const input = { plan: planOf(4), cluster: FULL, engine, name: 'n', token: 't', files: PYTHON };
    expect(find(manifestOf({ ...input, backend: 'gloo' }).objects, 'amd.com/gpu')).toEqual([]);
  });

  test.each(GANGS)('is placed whole or not at all by %s', (gang) => {
    const asked = { ...LEAST, gang, gpus_per_node: 4, queue: 'night', priority_class: 'high' };
    const { objects } = make(engine, asked);
    objects.forEach(validate);
    const [, group] = objects;
    expect(group).toMatchObject({ kind: 'PodGroup', metadata: { name: 'smoke-x-0a1b2c' }, spec: { minMember: 3 } });
    expect(find(group, 'queue')).toEqual(gang === 'volcano' ? ['night'] : []);
    expect(find(objects, 'kueue.x-k8s.io/queue-name')).toEqual(gang === 'volcano' ? [] : ['night']);
    expect(partsOf(engine, asked).at(-1)).toBe(`podgroups.${String(group?.apiVersion).split('/')[0]}`);
    for (const pod of pods(engine, asked)) {
      const key = gang === 'volcano' ? 'scheduling.k8s.io/group-name' : 'scheduling.x-k8s.io/pod-group';
      expect(find(pod, key)).toEqual(['smoke-x-0a1b2c']);
      expect(find(pod, 'schedulerName')).toEqual(gang === 'volcano' ? ['volcano'] : []);
    }
    // a cluster whose scheduler has another name
    expect(find(pods(engine, { ...asked, scheduler: 'mine' })[0], 'schedulerName')).toEqual(['mine']);
  });

  test('names everything so that the run finds it', () => {
    const { objects } = make(engine);
    for (const { metadata } of objects) {
      expect(metadata.name).toBe('smoke-x-0a1b2c');
      expect(metadata.labels[INSTANCE_LABEL]).toBe('smoke-x-0a1b2c');
    }
    for (const pod of pods(engine)) {
      expect(find(pod, INSTANCE_LABEL)).toEqual(['smoke-x-0a1b2c']);
    }
  });
});

function captureError(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('the plan in a ConfigMap', () => {
  const configMap = (plan: SmokePlan, files: Readonly<Record<string, string>> = PYTHON) =>
    make('job', LEAST, plan, files).objects[0] as unknown as {
      data: Record<string, string>;
      binaryData?: Record<string, string>;
    };
  const wide = (ranks: number): SmokePlan => {
    const plan = planOf(8);
    const family = { name: 'x', module: null, file: 'f', line: 1 };
    return { ...plan, groups: [{ ...family, ranks: Array.from({ length: ranks }, (_, rank) => [rank]) }] };
  };

  test('is text where it is short', () => {
    const plan = planOf(8);
    expect(JSON.parse(configMap(plan).data['plan.json'] ?? '')).toEqual(plan);
    expect(configMap(plan).binaryData).toBeUndefined();
  });

  test('is compressed where it is long, and the pods are told so', () => {
    const plan = wide(60_000);
    const packed = Buffer.from(configMap(plan).binaryData?.['plan.json.gz'] ?? '', 'base64');
    expect(JSON.parse(gunzipSync(packed).toString())).toEqual(plan);
    expect(container('job', LEAST, plan).command).toContain('/opt/parallelism-layout/plan.json.gz');
  });

  test('is refused with its size where it does not fit', () => {
    const refused = captureError(() => configMap(wide(500_000)));
    expect(refused).toBeInstanceOf(EnvironmentError);
    expect(String(refused)).toMatch(/does not fit into a ConfigMap: \d+ KiB .* of at most 1024 KiB/);
  });
});

describe('the name of a run', () => {
  test.each([
    ['MIMO on 8 GPUs', 'smoke-mimo-on-8-gpus-00ff00'],
    ['--$(rm -rf /)\n', 'smoke-rm-rf-00ff00'],
    ['日本', 'smoke-00ff00'],
    ['a'.repeat(99), `smoke-${'a'.repeat(16)}-00ff00`],
  ])('of %j is a DNS label', (layout, name) => {
    expect(runName(layout, '00ff00')).toBe(name);
  });
});

describe('the settings', () => {
  const parse = (more: Loose) => parseClusters([{ name: 'k', kind: 'kubernetes', image: 'torch', ...more }]);

  test('may all be given', () => {
    const { name: _, kind: __, ...settings } = FULL;
    expect(parse(settings).at(-1)).toEqual(FULL);
    for (const image of ['torch', 'nvcr.io/nvidia/pytorch:25.08-py3', 'a.b:5000/c/d_e/f__g.h:v1', 'localhost:5000/x']) {
      expect(parse({ image }).at(-1)).toMatchObject({ image });
    }
  });

  const names = ['', 'A', '-a', 'a..b', 'a/b', 'x'.repeat(254)];
  const refused: Readonly<Record<string, readonly unknown[]>> = {
    image: [
      undefined,
      '',
      '-x',
      'a b',
      'A',
      'a:',
      'a//b',
      'http://a/b',
      'a:$(id)',
      'a\nb',
      `a@sha256:${'a'.repeat(63)}`,
    ],
    namespace: ['', '-a', 'a.b', 'A', 'a\n', 'x'.repeat(64), '$(id)'],
    context: ['', 'a\nb', 'a\0b', '\ud800'],
    engine: ['mpijob'],
    gpus_per_node: [0, 1.5, 65, '8'],
    gpu_resource: ['', 'a/b/c', 'nvidia.com/', 'Ä'],
    shared_memory: ['', '1 Gi', '-1', '1e9', 'Gi', '1Zi'],
    resources: [['cpu'], ['cpu='], ['=1'], ['cpu=1;2']],
    node_selector: [['pool'], ['pool=a b'], ['=x'], ['-p=x']],
    tolerations: [[''], ['a:Never'], ['a=b c'], ['a:NoSchedule:x']],
    capabilities: [[''], ['ipc_lock'], ['CAP_IPC_LOCK'], ['SYS_ADMIN'], ['ALL']],
    volumes: [['data'], ['data:data'], ['Data:/data'], ['/a:/b:rw'], ['/a:/b\n']],
    network: ['none'],
    scheduler: names,
    gang: ['', 'kueue'],
    env: [['1A=x'], ['A'], ['A B=x'], ['SMOKE_TOKEN=x'], ['A=x\ny'], ['A=\0']],
    annotations: [['x'], ['=x'], ['a=b\nc']],
    service_account: names,
    image_pull_secret: names,
    runtime_class: names,
    priority_class: names,
    python: ['', '-m', 'py\nthon', 'py\0'],
    gpus: [8],
  };

  test.each(Object.keys(refused))('refuse a %s that could mean something else', (key) => {
    for (const value of refused[key] ?? []) {
      expect(() => parse({ [key]: value }), JSON.stringify(value)).toThrow(ClusterError);
      expect(() => parse({ [key]: value }), JSON.stringify(value)).toThrow(key);
    }
  });
});

describe('the log', () => {
  const at = (ms: number) => new Date(1_790_000_000_000 + ms).toISOString().replace('Z', '123456Z');
  /** What a node sends of a log: the lines since a second, as text. */
  const serve = (lines: readonly [number, string][], options: readonly string[]): string => {
    const since = options.map((option) => Date.parse(option.replace('--since-time=', '')))[0] ?? 0;
    return lines
      .filter(([ms]) => 1_790_000_000_000 + ms >= since)
      .map(([ms, text]) => `${at(ms)} ${text}\n`)
      .join('');
  };

  test('is read whole and once, wherever connections break', () => {
    // 400 lines of two streams, whose stamps are not in the order of the lines
    let seed = 7;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const lines = Array.from({ length: 400 }, (_, i): [number, string] => [
      Math.max(0, i * 40 - Math.floor(random() * 900)),
      i % 7 === 0 ? '' : `line ${i} {"a": 1}`,
    ]);
    for (let round = 0; round < 50; round++) {
      const reader = new LogReader();
      const got: string[] = [];
      let whole = false;
      while (!whole) {
        const text = serve(lines, reader.connect());
        const cut = random() < 0.1 ? text.length : Math.floor(random() * (text.length + 1));
        whole = cut === text.length;
        for (let from = 0; from < cut; ) {
          const to = Math.min(cut, from + 1 + Math.floor(random() * 500));
          got.push(...reader.feed(text.slice(from, to)));
          from = to;
        }
      }
      expect(got).toEqual(lines.map(([, text]) => text));
    }
  });

  test('is read with stamps of any time zone, and hands on words of the node', () => {
    const reader = new LogReader();
    expect(reader.connect()).toEqual([]);
    expect([...reader.feed('2026-11-21T09:00:07.5+02:00 a\nunable to retrieve container logs\n')]).toEqual([
      'a',
      'unable to retrieve container logs',
    ]);
    expect(reader.connect()).toEqual(['--since-time=2026-11-21T07:00:02.000Z']);
  });
});

describe('the pods', () => {
  const pod = (name: string, status: Loose, index?: string, more: Loose = {}) => ({
    metadata: { name, annotations: index === undefined ? {} : { 'batch.kubernetes.io/job-completion-index': index } },
    spec: {},
    status,
    ...more,
  });
  const read = (...items: Loose[]) => readPods(JSON.stringify({ items })) ?? [];
  const unschedulable = {
    phase: 'Pending',
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: '0/4 nodes are available:\n4 Insufficient nvidia.com/gpu.',
      },
    ],
  };
  const waiting = (reason: string, message?: string) => ({
    phase: 'Pending',
    containerStatuses: [{ state: { waiting: { reason, ...(message && { message }) } } }],
  });

  test('say why they wait', () => {
    const pods = read(
      pod('a', unschedulable, '0'),
      pod('b', unschedulable, '1'),
      pod('c', waiting('ImagePullBackOff', 'Back-off pulling image "torch"'), '2'),
      pod('d', waiting('ContainerCreating'), '3'),
    );
    expect(pods.map(({ first }) => first)).toEqual([true, false, false, false]);
    expect(podsText(pods, 4)).toBe(
      '0 of 4 pods started; 2 of 4 pods: Unschedulable: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.; 1 of 4 pods: ImagePullBackOff: Back-off pulling image "torch"',
    );
  });

  test('say how they were ended', () => {
    const [evicted, killed, failed] = read(
      pod('a', { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }),
      pod('b', {
        phase: 'Failed',
        containerStatuses: [{ state: { terminated: { reason: 'OOMKilled', exitCode: 137 } } }],
      }),
      pod('c', {
        phase: 'Failed',
        conditions: [
          { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message: 'preempted' },
        ],
      }),
    );
    expect(evicted).toMatchObject({ phase: 'failed', reason: 'Evicted: The node was low on resource: memory.' });
    expect(killed).toMatchObject({ phase: 'failed', reason: 'OOMKilled (exit status 137)' });
    expect(failed?.reason).toBe('PreemptionByScheduler: preempted');
  });

  test('run once their container does, whatever initialized it', () => {
    const init = { initContainerStatuses: [{ state: { terminated: { reason: 'Completed' } } }] };
    const [running] = read(
      pod('a', { phase: 'Running', ...init, containerStatuses: [{ state: { running: {} } }] }, undefined, {
        spec: { nodeName: 'gpu-7' },
      }),
    );
    expect(running).toMatchObject({ phase: 'running', node: 'gpu-7' });
  });

  test('are not known where an answer of kubectl is not whole', () => {
    expect(readPods('{"items": [null, 7]}')?.map(({ phase }) => phase)).toEqual(['waiting', 'waiting']);
    expect(readPods('{"items": []}')).toEqual([]);
    // pods behind the break are not gone
    const whole = JSON.stringify({ items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }] });
    expect([whole.slice(0, -20), '', '[]'].map(readPods)).toEqual([null, null, null]);
  });

  test('are missing for a reason: a quota, a queue', () => {
    const event = (name: string, type: string, reason: string, message: string, lastTimestamp: string) => ({
      involvedObject: { name },
      type,
      reason,
      message,
      lastTimestamp,
    });
    const text = JSON.stringify({
      items: [
        event('smoke-x', 'Warning', 'FailedCreate', 'exceeded quota: gpus', '2026-01-01T00:00:02Z'),
        event('job-smoke-x-1', 'Normal', 'Pending', "couldn't assign flavors", '2026-01-01T00:00:01Z'),
        event('other', 'Warning', 'Failed', 'no', '2026-01-01T00:00:03Z'),
        event('smoke-x', 'Normal', 'Created', 'no', '2026-01-01T00:00:04Z'),
      ],
    });
    expect(lastEvent(text, 'smoke-x')).toBe('FailedCreate: exceeded quota: gpus');
    expect(isSuspended('{"spec": {"suspend": true}}')).toBe(true);
    expect(isSuspended('{"spec": {"runPolicy": {"suspend": true}}}')).toBe(true);
    expect(isSuspended('{"spec": {}}')).toBe(false);
  });
});
