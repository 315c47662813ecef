import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Backend, EnvironmentError, type JobOutput } from '../backend';
import { jobFiles } from '../jobFiles';
import { planFor, type SmokePlan, withJoinLimit } from '../plan';
import { followJob, type SlurmTicket, type Timing } from './follow';
import { SUBMIT } from './scripts';
import { ConnectionError, type ScriptResult, Shell } from './shell';
import type { SlurmCluster } from './slurmFields';

/** The default folder of the runs' files. */
const WORK_DIRECTORY = '~/.parallelism-layout';

/** Time for Slurm to start and end a job, beside the job's own limits, in seconds. */
const MARGIN = 120;

/** The time limit for all ranks to join: srun starts nodes one after another, and pyxis may pull an image. Seconds. */
const JOIN = { bare: 60, container: 600 } as const;

/** Attempts to connect while a job is submitted. */
const SUBMIT_ATTEMPTS = 5;

const TIMING: Timing = { files: 1, squeue: 10, patience: 600 };

/** Slurm, on this machine or through ssh: sbatch starts the referee on the first node, which starts all ranks through srun. */
export function slurmBackendWith(timing: Timing): Backend<SlurmCluster> {
  return {
    async prepare({ plan, cluster, jobFolder, backend: wanted }) {
      const backend = (wanted ?? cluster.backend) === 'gloo' ? 'gloo' : 'nccl';
      const join = cluster.container_image === undefined ? JOIN.bare : JOIN.container;
      const written = withJoinLimit(planFor(plan, backend), join);
      const { minutes, notes } = timeLimit(cluster, written);
      const command = sbatchCommand(
        cluster,
        slurmShape(cluster, plan.world_size, plan.gpus_per_node),
        backend,
        minutes,
      );
      const files = [
        { path: 'slurm.sh', text: await readFile(`${jobFolder}/slurm.sh`, 'utf8') },
        { path: 'setup.sh', text: `${(cluster.setup ?? []).join('\n')}\n` },
      ];
      const work = cluster.work_directory ?? WORK_DIRECTORY;
      const run = `smoke-${randomBytes(6).toString('hex')}`;
      const folder = `${work}/${run}`;
      const shell = new Shell(cluster.host);
      return {
        plan: written,
        planFile: `${folder}/plan.json`,
        backend,
        command,
        place: { folder, jobFolder, ...(cluster.host !== undefined && { host: cluster.host }) },
        files,
        notes: [...notes, ...(backend === 'gloo' ? ['gloo on the CPU proves groups and data, not speed'] : [])],
        async run(output: JobOutput, signal: AbortSignal) {
          output.state({ phase: 'submitting', detail: shell.place });
          const python = Object.entries(await jobFiles(jobFolder)).map(([name, text]) => ({
            path: `job/${name}`,
            text,
          }));
          const all = [...python, ...files, { path: 'plan.json', text: JSON.stringify(written) }];
          const words = all.flatMap(({ path, text }) => [path, text]);
          const ticket = await submitJob(shell, [work, run, String(all.length), ...words, ...command]);
          output.submitted({ ...ticket });
          return followJob(shell, ticket, timing, output, signal);
        },
      };
    },
    attach: (cluster, ticket, output, signal) =>
      followJob(new Shell(cluster.host), slurmTicket(ticket), timing, output, signal),
  };
}

/** The engine of the kind `slurm`. */
export const slurmBackend = slurmBackendWith(TIMING);

/** @throws EnvironmentError for a ticket of another kind */
function slurmTicket({ job = '', folder = '' }: Readonly<Record<string, string>>): SlurmTicket {
  if (!/^\d+$/.test(job) || !folder.startsWith('/')) {
    throw new EnvironmentError('The saved run is not a Slurm job.');
  }
  return { job, folder };
}

/** Ranks, spread over nodes. */
interface Shape {
  readonly ranks: number;
  readonly nodes: number;
  readonly ranksPerNode: number;
}

/**
 * Ranks over the nodes that the settings of a cluster ask for.
 * @param perNode ranks on a node where the settings do not say
 * @throws EnvironmentError where the nodes cannot hold the ranks
 */
export function slurmShape(cluster: SlurmCluster, ranks: number, perNode: number): Shape {
  const spread = cluster.nodes === undefined ? perNode : Math.ceil(ranks / cluster.nodes);
  const ranksPerNode = Math.min(cluster.ranks_per_node ?? spread, ranks);
  const nodes = cluster.nodes ?? Math.ceil(ranks / ranksPerNode);
  if (nodes * ranksPerNode < ranks) {
    throw new EnvironmentError(
      `The layout has ${ranks} ranks, but cluster ${cluster.name} asks for ${nodes} nodes of ${ranksPerNode} ranks.`,
    );
  }
  if (nodes > ranks) {
    throw new EnvironmentError(`Cluster ${cluster.name} asks for ${nodes} nodes; the layout has only ${ranks} ranks.`);
  }
  return { ranks, nodes, ranksPerNode };
}

/** The time limit in Slurm's form: at least as long as the job needs to report a fault itself. */
function timeLimit({ time }: SlurmCluster, { limits }: SmokePlan): { minutes: string; notes: string[] } {
  const needed = Math.ceil(((limits.total ?? 0) + MARGIN) / 60);
  if (time === undefined) {
    return { minutes: String(needed), notes: [] };
  }
  return secondsOf(time) >= needed * 60
    ? { minutes: time, notes: [] }
    : { minutes: String(needed), notes: [`the time limit is ${needed} minutes: the job's own limits need them`] };
}

/** A time of Slurm in seconds: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`. */
export function secondsOf(time: string): number {
  const [, days, rest = ''] = /^(?:(\d+)-)?(.*)$/.exec(time) ?? [];
  const [first = 0, second = 0, third = 0] = rest.split(':').map(Number);
  if (days !== undefined) {
    return Number(days) * 86_400 + first * 3600 + second * 60 + third;
  }
  return rest.split(':').length === 3 ? first * 3600 + second * 60 + third : first * 60 + second;
}

/** The command that submits the job. It has every option, so that no variable such as SBATCH_TIMELIMIT counts. */
function sbatchCommand(
  cluster: SlurmCluster,
  { ranks, nodes, ranksPerNode }: Shape,
  backend: 'nccl' | 'gloo',
  time: string,
): string[] {
  const gpus = cluster.gpus_per_node ?? (backend === 'gloo' ? 0 : ranksPerNode);
  const shape = [`--nodes=${nodes}`, `--ntasks=${ranks}`, `--ntasks-per-node=${ranksPerNode}`];
  const given = (['partition', 'account', 'qos', 'reservation', 'constraint'] as const).flatMap((key) => {
    const value = cluster[key];
    return value === undefined ? [] : [`--${key}=${value}`];
  });
  const python = cluster.python ?? 'python3';
  const image = cluster.container_image ?? '';
  return [
    ...['sbatch', '--parsable', '--job-name=parallelism-layout-smoke', '--export=ALL', '--no-requeue'],
    ...['--input=/dev/null', '--output=log', `--time=${time}`, ...shape],
    ...(gpus > 0 ? [`--gpus-per-node=${gpus}`] : []),
    ...given,
    ...(cluster.options ?? []),
    './slurm.sh',
    cluster.referee_python ?? (image === '' ? python : 'python3'),
    python,
    image,
    (cluster.container_mounts ?? []).join(','),
    // each node is filled before the next, as layouts number ranks; a rank that fails ends all
    ...[...shape, '--distribution=block,Pack', '--kill-on-bad-exit=1', '--export=ALL', '--mpi=none', '--cpu-bind=none'],
    ...['--input=/dev/null', '--label'],
  ];
}

/**
 * Submits the job once, also where the connection breaks and is made again: the script knows whether it has submitted.
 * @throws EnvironmentError where the host cannot be reached, or Slurm refuses the job
 */
async function submitJob(shell: Shell, words: readonly string[]): Promise<SlurmTicket> {
  for (let attempt = 1; ; attempt++) {
    try {
      return ticketOf(shell, await shell.run(SUBMIT, words));
    } catch (error) {
      if (!(error instanceof ConnectionError)) {
        throw error;
      }
      if (!error.begun || attempt === SUBMIT_ATTEMPTS) {
        throw new EnvironmentError(`${shell.place} cannot be reached: ${error.message}`);
      }
    }
  }
}

function ticketOf(shell: Shell, { status, stdout, stderr }: ScriptResult): SlurmTicket {
  const [id = '', folder = ''] = stdout.trimEnd().split('\n');
  // with several clusters, sbatch adds the cluster's name
  const [job = ''] = id.split(';');
  if (status !== 0 || !/^\d+$/.test(job)) {
    throw new EnvironmentError(`Slurm on ${shell.place} refused the job: ${stderr || stdout.trim()}`);
  }
  return { job, folder };
}
