import { gzipSync } from 'node:zlib';
import type { IJobSpec } from 'kubernetes-models/batch/v1/JobSpec';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { IToleration } from 'kubernetes-models/v1/Toleration';
import type { IVolume } from 'kubernetes-models/v1/Volume';
import type { IVolumeMount } from 'kubernetes-models/v1/VolumeMount';
import { yamlText } from '../../layout';
import { EnvironmentError } from '../backend';
import type { SmokePlan } from '../plan';
import type { Engine, GANGS, KubernetesCluster } from './kubernetesFields';

/** The label of all objects of one job. */
export const INSTANCE_LABEL = 'app.kubernetes.io/instance';

/** The label of a pod that an engine makes from a template of its own. */
export const ROLE_LABEL = 'parallelism-layout/role';

/** The API of Kubeflow Trainer. */
const TRAINER = 'trainer.kubeflow.org/v1alpha1';

/** The folder of the Python job and the plan in the pods. */
const MOUNT = '/opt/parallelism-layout';

/** The port of the referee in the first pod. */
const PORT = 29410;

/** The most that a ConfigMap may hold, in bytes. */
const MOST_BYTES = 2 ** 20;

/** The size in bytes from which a plan is compressed, so that it fits a ConfigMap. */
const LONG_PLAN = 2 ** 18;

/** How long a finished job is kept for a client that does not delete it, in seconds. */
const TIME_TO_LIVE = 600;

/** Time for a pod to pull its image and wait for the others, beside the limits of the job, in seconds. */
const POD_MARGIN = 900;

/** How long pods may wait for resources, in seconds. Time in a queue of Kueue does not count. */
const LONGEST_WAIT = 86_400;

/** How long a pod may take to end after a signal: somewhat longer than the referee waits. Seconds. */
const GRACE = 20;

/** A service mesh would put a proxy between the ranks, and its container would outlive them. */
const NO_SIDECAR = { 'sidecar.istio.io/inject': 'false' } as const;

/** An object of the Kubernetes API. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
}

/** The input of a manifest. */
export interface ManifestInput {
  readonly plan: SmokePlan;
  readonly cluster: KubernetesCluster;
  readonly backend: 'nccl' | 'gloo';
  readonly engine: Engine;
  /** The name of all objects: a DNS label of at most 30 characters. */
  readonly name: string;
  /** The secret of the run. */
  readonly token: string;
  /** The files of the Python job, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** The objects of a run. */
export interface Manifest {
  /** In the order of creation; the last is the job. */
  readonly objects: readonly KubernetesObject[];
  readonly pods: number;
}

/** The name of a run: part of the layout's name, and a unique part. */
export function runName(layout: string, unique: string): string {
  const words = layout.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const slug = words.slice(0, 16).replace(/^-+|-+$/g, '');
  return ['smoke', slug, unique].filter((part) => part !== '').join('-');
}

function ranksPerPod(plan: SmokePlan, cluster: KubernetesCluster): number {
  return Math.min(plan.world_size, cluster.gpus_per_node ?? plan.gpus_per_node);
}

/**
 * The objects of a run: a ConfigMap with the Python job and the plan, and the job in the shape of its engine.
 * @throws EnvironmentError where the plan does not fit into a ConfigMap
 */
export function manifestOf(input: ManifestInput): Manifest {
  const pods = Math.ceil(input.plan.world_size / ranksPerPod(input.plan, input.cluster));
  const { apiVersion, kind, before, spec } = ENGINE_TABLE[input.engine];
  const job = { apiVersion, kind, metadata: metadata(input, 'job'), spec: spec(input, pods) };
  const objects = [configMap(input), ...podGroup(input, pods), ...(before ? [before(input, pods)] : []), job];
  return { objects, pods };
}

/** Objects as the text that kubectl reads. */
export function manifestText(objects: readonly KubernetesObject[]): string {
  // folded lines would be harder to read and to copy
  return objects.map((one) => yamlText(one)).join('---\n');
}

function metadata({ name, cluster, engine }: ManifestInput, of: 'job' | 'part' = 'part') {
  const isQueued = of === 'job' && cluster.queue !== undefined && cluster.gang !== 'volcano';
  const queue = isQueued ? { 'kueue.x-k8s.io/queue-name': cluster.queue } : {};
  return {
    name,
    ...(cluster.namespace !== undefined && { namespace: cluster.namespace }),
    labels: { ...labels(name), 'parallelism-layout/engine': engine, ...queue },
  };
}

function labels(name: string): Record<string, string> {
  return {
    [INSTANCE_LABEL]: name,
    'app.kubernetes.io/name': 'smoke-job',
    'app.kubernetes.io/managed-by': 'parallelism-layout',
  };
}

// ---- the Python job and the plan

/** The plan's file in the ConfigMap. */
export function planName(plan: SmokePlan): 'plan.json' | 'plan.json.gz' {
  return Buffer.byteLength(JSON.stringify(plan)) > LONG_PLAN ? 'plan.json.gz' : 'plan.json';
}

function configMap(input: ManifestInput): KubernetesObject & { readonly immutable: true } {
  const text = JSON.stringify(input.plan);
  const packed = planName(input.plan) === 'plan.json.gz' ? gzipSync(text, { level: 9 }) : null;
  const files = Object.values(input.files).reduce((sum, file) => sum + Buffer.byteLength(file), 0);
  const size = files + (packed?.length ?? Buffer.byteLength(text));
  if (size > MOST_BYTES) {
    throw new EnvironmentError(
      `The plan of ${input.plan.world_size} ranks does not fit into a ConfigMap: ${kibibytes(size)} with the Python job, of at most ${kibibytes(MOST_BYTES)}. Ask for fewer checks in the layout's \`smoke\` section, or prove a smaller world of the same shape.`,
    );
  }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadata(input),
    immutable: true,
    ...(packed
      ? { data: input.files, binaryData: { 'plan.json.gz': packed.toString('base64') } }
      : { data: { ...input.files, 'plan.json': text } }),
  };
}

function kibibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`;
}

// ---- the pods

/** Escapes `$`: Kubernetes replaces `$(NAME)` in arguments and values, and `$$` by `$`. */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}

/** The command of every pod, as an array: no shell reads it. */
function command({ plan, cluster, engine, name }: ManifestInput): string[] {
  return [
    ...[literal(cluster.python ?? 'python3'), `${MOUNT}/smoke_job.py`, 'pod', '--plan', `${MOUNT}/${planName(plan)}`],
    ...[
      '--job',
      name,
      '--index',
      `$(${ENGINE_TABLE[engine].index})`,
      '--ranks-per-pod',
      String(ranksPerPod(plan, cluster)),
    ],
    ...['--referee', ENGINE_TABLE[engine].host(name), '--port', String(PORT)],
  ];
}

function podTemplate(input: ManifestInput, role?: string): IPodTemplateSpec {
  const { plan, cluster, engine, name } = input;
  const gpus = input.backend === 'nccl' && {
    [cluster.gpu_resource ?? 'nvidia.com/gpu']: String(ranksPerPod(plan, cluster)),
  };
  const limits = { ...pairs(cluster.resources ?? []), ...gpus };
  const mounts = (cluster.volumes ?? []).map(mounted);
  const gang = cluster.gang && GANG_TABLE[cluster.gang];
  return {
    metadata: {
      labels: {
        ...labels(name),
        ...NO_SIDECAR,
        ...gang?.labels(name),
        ...(role !== undefined && { [ROLE_LABEL]: role }),
      },
      annotations: { ...NO_SIDECAR, ...gang?.annotations(name), ...pairs(cluster.annotations ?? []) },
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: podDeadline(plan),
      terminationGracePeriodSeconds: GRACE,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...given<IPodSpec>({
        subdomain: engine === 'job' ? name : undefined,
        nodeSelector: cluster.node_selector && pairs(cluster.node_selector),
        tolerations: cluster.tolerations?.map(toleration),
        serviceAccountName: cluster.service_account,
        imagePullSecrets: cluster.image_pull_secret === undefined ? undefined : [{ name: cluster.image_pull_secret }],
        runtimeClassName: cluster.runtime_class,
        priorityClassName: cluster.priority_class,
        schedulerName: cluster.scheduler ?? gang?.scheduler,
        hostNetwork: cluster.network === 'host' ? true : undefined,
        // names of the cluster are still found
        dnsPolicy: cluster.network === 'host' ? 'ClusterFirstWithHostNet' : undefined,
      }),
      containers: [
        {
          name: ENGINE_TABLE[engine].container,
          image: cluster.image,
          command: command(input),
          env: environment(input),
          ports: [{ name: 'referee', containerPort: PORT }],
          resources: { limits, requests: limits },
          securityContext: {
            allowPrivilegeEscalation: false,
            ...(cluster.capabilities && { capabilities: { add: [...cluster.capabilities] } }),
          },
          volumeMounts: [
            { name: 'job', mountPath: MOUNT, readOnly: true },
            { name: 'shared-memory', mountPath: '/dev/shm' },
            ...mounts.map(({ mount }) => mount),
          ],
        },
      ],
      volumes: [
        { name: 'job', configMap: { name } },
        { name: 'shared-memory', emptyDir: { medium: 'Memory', sizeLimit: cluster.shared_memory ?? '16Gi' } },
        ...mounts.map(({ volume }) => volume),
      ],
    },
  };
}

/** The time limit of a pod, which leaves the job time to report a fault itself. Seconds. */
function podDeadline({ limits }: SmokePlan): number {
  return Math.ceil(limits.total ?? 0) + POD_MARGIN;
}

/** The time limit of a job, with the wait for resources. Seconds. */
function jobDeadline(plan: SmokePlan): number {
  return LONGEST_WAIT + podDeadline(plan);
}

/** The fields that have a value. */
function given<T extends object>(fields: { readonly [Key in keyof T]?: T[Key] | undefined }): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function environment({ cluster, token }: ManifestInput) {
  const own = Object.entries(pairs(cluster.env ?? [])).map(([name, value]) => ({ name, value: literal(value) }));
  return [
    ...own,
    { name: 'SMOKE_TOKEN', value: token },
    { name: 'SMOKE_NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'PYTHONDONTWRITEBYTECODE', value: '1' },
  ];
}

/** `name=value` texts as a map. */
function pairs(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** A volume that a cluster's file writes as `claim:/path` or `/folder:/path`, and where a container has it. */
function mounted(text: string, index: number): { readonly mount: IVolumeMount; readonly volume: IVolume } {
  const [what = '', mountPath = '', mode] = text.split(':');
  const name = `volume-${index}`;
  const readOnly = mode === 'ro';
  return {
    mount: { name, mountPath, readOnly },
    volume: what.startsWith('/')
      ? { name, hostPath: { path: what, type: 'Directory' } }
      : { name, persistentVolumeClaim: { claimName: what, readOnly } },
  };
}

/** The toleration of a taint in kubectl's form. */
function toleration(text: string): IToleration {
  const [taint = '', effect] = text.split(':');
  const [key = '', value] = taint.split('=');
  return {
    key,
    ...(value === undefined ? { operator: 'Exists' as const } : { operator: 'Equal' as const, value }),
    ...(effect !== undefined && { effect: effect as NonNullable<IToleration['effect']> }),
  };
}

// ---- the engines

/** An indexed job of all pods that fails with the first of them. */
function jobSpec(input: ManifestInput, pods: number): IJobSpec {
  return {
    completionMode: 'Indexed',
    completions: pods,
    parallelism: pods,
    backoffLimit: 0,
    activeDeadlineSeconds: jobDeadline(input.plan),
    template: podTemplate(input),
  };
}

function jobSetSpec(input: ManifestInput, pods: number, replicatedJob: string, stepLabels?: Record<string, string>) {
  return {
    failurePolicy: { maxRestarts: 0 },
    network: { enableDNSHostnames: true, publishNotReadyAddresses: true },
    ttlSecondsAfterFinished: TIME_TO_LIVE,
    replicatedJobs: [
      {
        name: replicatedJob,
        replicas: 1,
        template: { ...(stepLabels && { metadata: { labels: stepLabels } }), spec: jobSpec(input, pods) },
      },
    ],
  };
}

/** What the engines differ in. */
interface EngineDescription {
  /** The kind of object that it runs, as `kubectl api-resources` lists it. */
  readonly apiVersion: string;
  readonly resource: string;
  readonly kind: string;
  /** What it needs beside the job and its ConfigMap. */
  readonly parts: readonly string[];
  /** The container's name in every pod. A PyTorchJob and a TrainJob each require one. */
  readonly container: string;
  /** The variable in which it gives each pod its index. */
  readonly index: string;
  /** The host name of the first pod. */
  readonly host: (name: string) => string;
  /** The object that the job needs, where there is one. */
  readonly before?: (input: ManifestInput, pods: number) => KubernetesObject;
  /** The `spec` of the job. */
  readonly spec: (input: ManifestInput, pods: number) => object;
}

export const ENGINE_TABLE: Readonly<Record<Engine, EngineDescription>> = {
  trainjob: {
    apiVersion: TRAINER,
    resource: 'trainjobs.trainer.kubeflow.org',
    kind: 'TrainJob',
    parts: ['trainingruntimes.trainer.kubeflow.org'],
    container: 'node',
    index: 'JOB_COMPLETION_INDEX',
    host: (name) => `${name}-node-0-0.${name}`,
    before: trainingRuntime,
    spec: ({ name }, pods) => ({
      runtimeRef: { apiGroup: 'trainer.kubeflow.org', kind: 'TrainingRuntime', name },
      trainer: { numNodes: pods },
    }),
  },
  jobset: {
    apiVersion: 'jobset.x-k8s.io/v1alpha2',
    resource: 'jobsets.jobset.x-k8s.io',
    kind: 'JobSet',
    parts: [],
    container: 'smoke',
    index: 'JOB_COMPLETION_INDEX',
    host: (name) => `${name}-pod-0-0.${name}`,
    spec: (input, pods) => jobSetSpec(input, pods, 'pod'),
  },
  pytorchjob: {
    apiVersion: 'kubeflow.org/v1',
    resource: 'pytorchjobs.kubeflow.org',
    kind: 'PyTorchJob',
    parts: [],
    container: 'pytorch',
    index: 'RANK',
    host: (name) => `${name}-master-0`,
    spec: pyTorchJobSpec,
  },
  job: {
    apiVersion: 'batch/v1',
    resource: 'jobs.batch',
    kind: 'Job',
    parts: ['services'],
    container: 'smoke',
    index: 'JOB_COMPLETION_INDEX',
    host: (name) => `${name}-0.${name}`,
    before: headlessService,
    spec: (input, pods) => ({ ...jobSpec(input, pods), ttlSecondsAfterFinished: TIME_TO_LIVE }),
  },
};

/** What schedulers of gangs differ in. */
interface GangDescription {
  readonly apiVersion: string;
  /** The kind of its PodGroups, as `kubectl api-resources` lists it. */
  readonly resource: string;
  /** How a pod names its PodGroup. */
  readonly labels: (group: string) => Readonly<Record<string, string>>;
  readonly annotations: (group: string) => Readonly<Record<string, string>>;
  /** The scheduler of the pods where the cluster's settings name none; left out: the cluster's own. */
  readonly scheduler?: string;
  /** The `spec` of a PodGroup beside its size. */
  readonly spec: (cluster: KubernetesCluster) => object;
}

const GANG_TABLE: Readonly<Record<(typeof GANGS)[number], GangDescription>> = {
  volcano: {
    apiVersion: 'scheduling.volcano.sh/v1beta1',
    resource: 'podgroups.scheduling.volcano.sh',
    labels: () => ({}),
    annotations: (group) => ({ 'scheduling.k8s.io/group-name': group }),
    scheduler: 'volcano',
    spec: ({ queue, priority_class }) =>
      given<{ queue: string; priorityClassName: string }>({ queue, priorityClassName: priority_class }),
  },
  coscheduling: {
    apiVersion: 'scheduling.x-k8s.io/v1alpha1',
    resource: 'podgroups.scheduling.x-k8s.io',
    labels: (group) => ({ 'scheduling.x-k8s.io/pod-group': group }),
    annotations: () => ({}),
    spec: () => ({}),
  },
};

/** The group of all pods, where the cluster's settings ask for one: a job with fewer of them proves nothing. */
function podGroup(input: ManifestInput, pods: number): KubernetesObject[] {
  const { cluster } = input;
  if (cluster.gang === undefined) {
    return [];
  }
  const { apiVersion, spec } = GANG_TABLE[cluster.gang];
  const group = { apiVersion, kind: 'PodGroup', metadata: metadata(input) };
  return [{ ...group, spec: { minMember: pods, ...spec(cluster) } } as KubernetesObject];
}

/** The kinds of objects that a run makes beside the job and its ConfigMap, as `kubectl api-resources` lists them. */
export function partsOf(engine: Engine, { gang }: KubernetesCluster): readonly string[] {
  return [...ENGINE_TABLE[engine].parts, ...(gang === undefined ? [] : [GANG_TABLE[gang].resource])];
}

/** The pods of a plain Job have host names only under a headless service. */
function headlessService(input: ManifestInput): KubernetesObject {
  const spec = {
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    selector: { [INSTANCE_LABEL]: input.name },
    ports: [{ name: 'referee', port: PORT }],
  };
  return { apiVersion: 'v1', kind: 'Service', metadata: metadata(input), spec } as KubernetesObject;
}

/**
 * A runtime of the job's own. The fields with which a TrainJob overrides another runtime have had another name in almost every
 * release (podSpecOverrides, podTemplateOverrides, runtimePatches); the fields of a runtime have not.
 */
function trainingRuntime(input: ManifestInput, pods: number): KubernetesObject {
  const step = { 'trainer.kubeflow.org/trainjob-ancestor-step': 'trainer' };
  const spec = { mlPolicy: { numNodes: pods }, template: { spec: jobSetSpec(input, pods, 'node', step) } };
  return {
    apiVersion: TRAINER,
    kind: 'TrainingRuntime',
    metadata: metadata(input),
    spec,
  } as KubernetesObject;
}

/** The first pod is the master, which has a service of its own. */
function pyTorchJobSpec(input: ManifestInput, pods: number) {
  const replica = (replicas: number, role: string) => ({
    replicas,
    restartPolicy: 'Never',
    template: podTemplate(input, role),
  });
  return {
    runPolicy: {
      // keep finished pods and their logs until the job is deleted
      cleanPodPolicy: 'None',
      backoffLimit: 0,
      activeDeadlineSeconds: jobDeadline(input.plan),
      ttlSecondsAfterFinished: TIME_TO_LIVE,
    },
    pytorchReplicaSpecs: {
      Master: replica(1, 'first'),
      ...(pods > 1 && { Worker: replica(pods - 1, 'other') }),
    },
  };
}
