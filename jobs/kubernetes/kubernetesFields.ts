import {
  BACKEND_FIELD,
  type Fields,
  type KindDescription,
  PYTHON_FIELD,
  type SettingsOf,
  UNPRINTABLE,
} from '../clusterFields';

/** The engines that can run the pods, in the order in which `auto` looks for them. */
export const ENGINES = ['trainjob', 'jobset', 'pytorchjob', 'job'] as const;

/** Schedulers that place all pods of a PodGroup or none. */
export const GANGS = ['volcano', 'coscheduling'] as const;

/** What starts the pods, and gives each its place and its name. */
export type Engine = (typeof ENGINES)[number];

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const SUBDOMAIN = String.raw`(?=.{1,253}$)${LABEL}(?:\.${LABEL})*`;
/** As `SUBDOMAIN`, inside a longer text. */
const SUBDOMAIN_NAME = String.raw`${LABEL}(?:\.${LABEL}){0,16}`;
const NAME_PART = '[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?';
const QUALIFIED = String.raw`(?:${LABEL}(?:\.${LABEL})*/)?${NAME_PART}`;
const QUANTITY = '[0-9]{1,12}(?:[.][0-9]{1,3})?(?:m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?';
const IMAGE_PART = '[a-z0-9]+(?:(?:[.]|_{1,2}|-+)[a-z0-9]+)*';

/** `[registry[:port]/]path[:tag][@digest]`, as container engines read it. */
const IMAGE = [
  '^(?=.{1,512}$)',
  String.raw`(?:${LABEL}(?:\.${LABEL})*(?::[0-9]{1,5})?/)?`,
  `${IMAGE_PART}(?:/${IMAGE_PART})*`,
  '(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?',
  '(?:@sha256:[0-9a-f]{64})?$',
].join('');

const NAME = {
  type: 'string',
  pattern: `^${SUBDOMAIN}$`,
  patternErrorMessage: 'must be a name of small letters, digits, dashes and dots',
} as const;

const FIELDS = {
  image: {
    type: 'string',
    pattern: IMAGE,
    patternErrorMessage: 'must be an image reference, such as nvcr.io/nvidia/pytorch:25.08-py3',
    description:
      'The container image. It must have Python 3.9 or newer with torch, for a backend that the nodes can run.',
    examples: ['nvcr.io/nvidia/pytorch:25.08-py3', 'pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime'],
  },
  context: {
    type: 'string',
    pattern: `^[^${UNPRINTABLE}]{1,512}$`,
    patternErrorMessage: 'must be the name of a context',
    description: 'The context of the kubeconfig. Left out: the current one.',
  },
  namespace: {
    type: 'string',
    pattern: `^${LABEL}$`,
    patternErrorMessage: 'must be a name of at most 63 small letters, digits and dashes',
    description: "The namespace that the job is made in. Left out: the context's own.",
  },
  engine: {
    type: 'string',
    enum: ['auto', ...ENGINES],
    default: 'auto',
    description:
      'What starts the pods: a TrainJob (Kubeflow Trainer), a JobSet, a PyTorchJob (Kubeflow Training Operator) or a plain indexed Job. `auto` is the first of them that the cluster has and lets you create.',
  },
  gpus_per_node: {
    type: 'integer',
    minimum: 1,
    maximum: 64,
    description: "GPUs, and so ranks, in a pod. Left out: the layout's `cluster.gpus_per_node`.",
  },
  gpu_resource: {
    type: 'string',
    pattern: `^${QUALIFIED}$`,
    patternErrorMessage: 'must be the name of a resource, such as nvidia.com/gpu',
    default: 'nvidia.com/gpu',
    description: 'The name under which the cluster has its GPUs.',
  },
  resources: {
    type: 'array',
    maxItems: 16,
    items: {
      type: 'string',
      pattern: `^${QUALIFIED}=${QUANTITY}$`,
      patternErrorMessage: 'must be a resource and a quantity, such as memory=64Gi',
    },
    description: 'What else each pod asks for: processor cores, memory, network adapters.',
    examples: [['cpu=32', 'memory=256Gi', 'rdma/hca=8']],
  },
  shared_memory: {
    type: 'string',
    pattern: `^${QUANTITY}$`,
    patternErrorMessage: 'must be a quantity, such as 16Gi',
    default: '16Gi',
    description: 'The most that /dev/shm may hold, which NCCL uses between the ranks of a pod.',
  },
  capabilities: {
    type: 'array',
    maxItems: 16,
    items: {
      type: 'string',
      pattern: '^(?!SYS_ADMIN$|ALL$|CAP_)[A-Z][A-Z_]{1,40}$',
      patternErrorMessage: 'must be a capability of Linux without CAP_, such as IPC_LOCK',
    },
    description: 'Capabilities that the ranks get. RDMA pins memory, for which most images need `IPC_LOCK`.',
    examples: [['IPC_LOCK']],
  },
  volumes: {
    type: 'array',
    maxItems: 16,
    items: {
      type: 'string',
      pattern: `^(?:${SUBDOMAIN_NAME}|/[^${UNPRINTABLE}:]{0,1000}):/[^${UNPRINTABLE}:]{1,1000}(?::ro)?$`,
      patternErrorMessage: 'must be a claim or a folder of the node, and where it is mounted, such as data:/data:ro',
    },
    description:
      'What is mounted into the pods: `claim:/path` of a PersistentVolumeClaim, or `/folder:/path` of the node; `:ro` behind it for reading alone.',
    examples: [['datasets:/data:ro']],
  },
  network: {
    type: 'string',
    enum: ['pod', 'host'],
    default: 'pod',
    description: 'The network of the pods: their own, or that of the node, as adapters without a device plugin need.',
  },
  scheduler: {
    ...NAME,
    description: 'The scheduler of the pods, such as one that places all of them or none.',
    examples: ['volcano'],
  },
  gang: {
    type: 'string',
    enum: GANGS,
    description:
      'Makes a PodGroup with `minMember` of all pods, so that the scheduler places all of them or none: `volcano` for Volcano, `coscheduling` for the plugin of kube-scheduler. Kueue (`queue`) admits a job whole without it.',
  },
  node_selector: {
    type: 'array',
    maxItems: 16,
    items: {
      type: 'string',
      pattern: `^${QUALIFIED}=(?:${NAME_PART})?$`,
      patternErrorMessage: 'must be a label and its value, such as pool=h100',
    },
    description: 'Labels that a node must have.',
    examples: [['node.kubernetes.io/instance-type=p5.48xlarge']],
  },
  tolerations: {
    type: 'array',
    maxItems: 16,
    items: {
      type: 'string',
      pattern: `^${QUALIFIED}(?:=(?:${NAME_PART})?)?(?::(?:NoSchedule|PreferNoSchedule|NoExecute))?$`,
      patternErrorMessage: 'must be a taint as kubectl writes it, such as nvidia.com/gpu:NoSchedule',
    },
    description: 'Taints that the pods put up with, as kubectl writes them: `key`, `key:Effect` or `key=value:Effect`.',
    examples: [['nvidia.com/gpu:NoSchedule']],
  },
  queue: {
    type: 'string',
    pattern: `^${LABEL}$`,
    patternErrorMessage: 'must be a name of at most 63 small letters, digits and dashes',
    description: 'The local queue of Kueue that the job waits in; with `gang: volcano`, the queue of Volcano.',
  },
  priority_class: { ...NAME, description: 'The PriorityClass of the pods.' },
  runtime_class: {
    ...NAME,
    description: 'The RuntimeClass of the pods.',
    examples: ['nvidia'],
  },
  service_account: { ...NAME, description: 'The service account of the pods.' },
  image_pull_secret: {
    ...NAME,
    description: 'The secret with which nodes pull the image. It must be in the namespace.',
  },
  annotations: {
    type: 'array',
    maxItems: 16,
    items: {
      type: 'string',
      pattern: `^${QUALIFIED}=[^${UNPRINTABLE}]{0,1024}$`,
      patternErrorMessage: 'must be a name and a value, such as k8s.v1.cni.cncf.io/networks=roce',
    },
    description: 'Annotations of the pods, such as those that attach networks.',
    examples: [['k8s.v1.cni.cncf.io/networks=default/roce']],
  },
  env: {
    type: 'array',
    maxItems: 64,
    items: {
      type: 'string',
      pattern: `^(?!SMOKE_)[A-Za-z_][A-Za-z0-9_]{0,127}=[^${UNPRINTABLE}]{0,4096}$`,
      patternErrorMessage: 'must be a variable and its value, such as NCCL_DEBUG=WARN',
    },
    description: 'Environment variables of the ranks. They arrive as they are written.',
    examples: [['NCCL_SOCKET_IFNAME=eth0']],
  },
  python: { ...PYTHON_FIELD, default: 'python3', description: 'The Python interpreter (3.9 or newer) in the image.' },
  backend: {
    ...BACKEND_FIELD,
    description: 'The communication backend. `auto` is NCCL; with gloo no GPUs are asked for.',
  },
} as const satisfies Fields;

/** A Kubernetes cluster, through kubectl. */
export interface KubernetesCluster extends SettingsOf<typeof FIELDS, 'image'> {
  readonly name: string;
  readonly kind: 'kubernetes';
}

/** How a user writes down a Kubernetes cluster. */
export const KUBERNETES_KIND: KindDescription = {
  kind: 'kubernetes',
  description: 'A Kubernetes cluster: kubectl makes a TrainJob, a JobSet, a PyTorchJob or a Job, with a pod a node.',
  fields: FIELDS,
  required: ['image'],
  snippet: { namespace: 'default', image: 'nvcr.io/nvidia/pytorch:25.08-py3', gpus_per_node: 8 },
};
