import {
  BACKEND_FIELD,
  type Fields,
  type KindDescription,
  PYTHON_FIELD,
  type SettingsOf,
  type TextField,
  UNPRINTABLE,
} from '../clusterFields';

/** Names of Slurm, and lists of them. */
const NAMES = '^[A-Za-z0-9_][A-Za-z0-9_.,@+\\-]*$';

/** Parts of a destination of ssh. */
const USER = '([A-Za-z0-9_][A-Za-z0-9_.+\\-]*@)?';
const HOST = '[A-Za-z0-9_][A-Za-z0-9_.\\-]*';

/** The pattern of a text that is only used as one word of a command. */
const WORD = `^[^${UNPRINTABLE}\\-\\s][^${UNPRINTABLE}]*$`;

/** A path that is mounted: `:` and `,` stand between mounts. */
const MOUNTED = `/[^${UNPRINTABLE},:]*`;

/**
 * The options of sbatch that may be added: they select nodes or resources. Options that run, read or write something or change the
 * number of jobs or ranks are left out, as are getopt's abbreviations.
 */
const MORE_OPTIONS = [
  ...['begin', 'comment', 'contiguous', 'core-spec', 'cores-per-socket', 'cpu-freq', 'cpus-per-gpu', 'cpus-per-task'],
  ...['deadline', 'delay-boot', 'dependency', 'exclude', 'exclusive', 'extra-node-info', 'gpu-freq', 'gres'],
  ...['gres-flags', 'hint', 'hold', 'licenses', 'mail-type', 'mail-user', 'mem', 'mem-bind', 'mem-per-cpu'],
  ...['mem-per-gpu', 'mincpus', 'network', 'nice', 'nodelist', 'prefer', 'priority', 'segment', 'sockets-per-node'],
  ...['switches', 'threads-per-core', 'tmp', 'tres-bind', 'use-min-nodes', 'wckey'],
];

const name = (description: string, ...examples: string[]) =>
  ({
    type: 'string',
    pattern: NAMES,
    patternErrorMessage: 'must be a name of Slurm, of letters, digits, `_`, `.`, `-`',
    description,
    examples,
  }) as const satisfies TextField;

const FIELDS = {
  host: {
    type: 'string',
    // user@host, or ssh://user@host:port; ssh would take a leading dash for an option
    pattern: `^(${USER}${HOST}|ssh://${USER}(${HOST}|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?)$`,
    patternErrorMessage: 'must be a destination of ssh: `host`, `user@host` or `ssh://user@host:port`',
    description:
      'The login node, as `ssh` knows it (an alias of your `~/.ssh/config`, or `user@host`). Left out: Slurm is called on this machine.',
    examples: ['login.example.org', 'me@login'],
  },
  partition: name('The partition, or several with commas between them: the first that is free is taken.', 'gpu'),
  account: name('The account that is charged.'),
  qos: name('The quality of service.'),
  reservation: name('The reservation to run in.'),
  constraint: {
    type: 'string',
    pattern: '^[A-Za-z0-9_\\[(][A-Za-z0-9_.,&|*()\\[\\]@:+\\-]*$',
    patternErrorMessage: 'must be features of nodes, such as `h200&ib`',
    description: 'Features that the nodes must have.',
    examples: ['h200'],
  },
  time: {
    type: 'string',
    pattern: '^([0-9]{1,3}-[0-9]{1,2}(:[0-9]{1,2}){0,2}|[0-9]{1,6}(:[0-9]{1,2}){0,2})$',
    patternErrorMessage: 'must be a time of Slurm: `minutes`, `hours:minutes:seconds` or `days-hours`',
    description:
      "The time limit, as Slurm writes it. Left out, or too short: the job's own limits and two minutes, in which it can say what went wrong.",
    examples: ['10', '00:30:00'],
  },
  nodes: {
    type: 'integer',
    minimum: 1,
    maximum: 100_000,
    description: 'Nodes to ask for. Left out: as many as the ranks need.',
  },
  ranks_per_node: {
    type: 'integer',
    minimum: 1,
    maximum: 1024,
    description: 'Ranks on each node. Left out: the `gpus_per_node` of the layout.',
  },
  gpus_per_node: {
    type: 'integer',
    minimum: 0,
    maximum: 1024,
    description:
      'GPUs to ask for on each node; 0 asks for none, for clusters where `options` does. Left out: one for each rank; none with the backend gloo.',
  },
  container_image: {
    type: 'string',
    pattern: WORD,
    patternErrorMessage: 'must be an image of enroot, or the path of one',
    description: 'The container image that the ranks run in (the pyxis plugin of Slurm).',
    examples: ['nvcr.io#nvidia/pytorch:25.04-py3', '/images/train.sqsh'],
  },
  container_mounts: {
    type: 'array',
    items: {
      type: 'string',
      pattern: `^${MOUNTED}(:${MOUNTED}(:[a-z+]+)?)?$`,
      patternErrorMessage: 'must be `/from:/to` or `/from:/to:flags`',
    },
    maxItems: 64,
    description: 'What is mounted into the container, beside the folder of the run.',
    examples: [['/data:/data:ro']],
  },
  setup: {
    type: 'array',
    items: {
      type: 'string',
      pattern: `^[^${UNPRINTABLE}]*$`,
      patternErrorMessage: 'must be one line of bash',
    },
    maxItems: 100,
    description: 'Lines of bash that run on the first node before the ranks start: modules, variables, an environment.',
    examples: [['module load cuda', 'export NCCL_SOCKET_IFNAME=ib0']],
  },
  python: {
    ...PYTHON_FIELD,
    description:
      'The Python interpreter (3.9 or newer) with torch that the ranks run, inside the container where there is one. Left out: `python3`, after `setup`.',
  },
  referee_python: {
    ...PYTHON_FIELD,
    description:
      'The Python interpreter (3.9 or newer, without torch) of the process on the first node that watches the ranks. Left out: `python`, or `python3` beside a container.',
  },
  work_directory: {
    type: 'string',
    // sbatch reads `%` and a backslash in the place of its output as a pattern
    pattern: `^~?/[^${UNPRINTABLE}%\\\\]*$`,
    patternErrorMessage: 'must be an absolute path, or begin with `~/`, without `%` and backslashes',
    default: '~/.parallelism-layout',
    description:
      "Where the run's files are for as long as it lasts: a folder that the login node and all nodes of the job share.",
  },
  options: {
    type: 'array',
    items: {
      type: 'string',
      pattern: `^--(${MORE_OPTIONS.join('|')})(=[^${UNPRINTABLE}]+)?$`,
      patternErrorMessage: 'must be an option of sbatch that asks for nodes or parts of them, such as `--mem=0`',
    },
    maxItems: 32,
    description: 'More options of sbatch, each as `--option=value`.',
    examples: [['--mem=0', '--exclusive']],
  },
  backend: {
    ...BACKEND_FIELD,
    description: 'The communication backend. `auto` is NCCL; `gloo` runs on the CPU and proves no speed.',
  },
} as const satisfies Fields;

/** A cluster that Slurm runs. */
export interface SlurmCluster extends SettingsOf<typeof FIELDS> {
  readonly name: string;
  readonly kind: 'slurm';
}

/** How a user writes down a cluster that Slurm runs. */
export const SLURM_KIND: KindDescription = {
  kind: 'slurm',
  description: 'A cluster that Slurm runs: sbatch and srun start the ranks, here or through ssh.',
  fields: FIELDS,
  required: [],
  snippet: { host: 'login.example.org', partition: 'gpu', account: 'project', python: 'python3' },
};
