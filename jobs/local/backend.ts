import { execFile, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Backend, EnvironmentError, type JobOutput, type Question, TooFewGpusError } from '../backend';
import { BACKEND_FIELD, type Fields, type KindDescription, PYTHON_FIELD, type SettingsOf } from '../clusterFields';
import { type CommBackend, planFor } from '../plan';

const execute = promisify(execFile);

const FIELDS = {
  python: {
    ...PYTHON_FIELD,
    description: 'The Python interpreter (3.9 or newer) with torch. Left out: the first on PATH that has torch.',
  },
  backend: BACKEND_FIELD,
} as const satisfies Fields;

/** This machine, through torchrun. */
export interface LocalCluster extends SettingsOf<typeof FIELDS> {
  readonly name: string;
  readonly kind: 'local';
}

/** How a user writes down this machine. */
export const LOCAL_KIND: KindDescription = {
  kind: 'local',
  description: 'This machine: torchrun starts all ranks.',
  fields: FIELDS,
  required: [],
  snippet: { python: 'python3' },
};

/** How long one look at an interpreter may take: importing torch is slow on a cold disk. Milliseconds. */
const PROBE_TIMEOUT = 120_000;

/** How long the job has to end by itself after it was told to, in milliseconds. */
const CANCEL_GRACE = 15_000;

/** So many ranks run on any machine; and so many on each core of it: most of the time they wait for each other. */
const SENSIBLE = { ranks: 16, ranksPerCore: 4 } as const;

/** Memory that a rank takes on the CPU, torch included, in GiB. */
const RANK_MEMORY = 0.25;

/** The first of these that has torch is used where the cluster names none. */
const INTERPRETERS = ['python3', 'python', '/usr/bin/python3'];

/** What a Python interpreter can run. */
export interface PythonEnvironment {
  readonly python: string;
  readonly torch: string;
  /** GPUs that torch sees on this machine. */
  readonly gpus: number;
}

/** This machine: the referee starts torchrun, which starts all ranks. */
export const localBackend: Backend<LocalCluster> = {
  async prepare({ plan, cluster, job, backend: wanted }, folder, signal) {
    if (process.platform === 'win32') {
      throw new EnvironmentError('The smoke job needs Linux or macOS. On Windows, run it inside WSL.');
    }
    const environment = await findPython(cluster, job, signal);
    const asked = wanted ?? cluster.backend ?? 'auto';
    const backend = chooseBackend(asked, environment, plan.world_size);
    const planFile = join(folder, 'plan.json');
    const logs = join(folder, 'ranks');
    const written = planFor(plan, backend);
    const command = localCommand(environment.python, job, planFile, plan.world_size, logs);
    return {
      plan: written,
      planFile,
      backend,
      command,
      files: [],
      notes: backend === 'gloo' ? [glooNote(environment, plan.world_size)] : [],
      questions: backend === 'gloo' ? glooQuestions(asked, environment, plan.world_size) : [],
      async run(output, cancel) {
        await mkdir(logs);
        await writeFile(planFile, JSON.stringify(written));
        cancel.throwIfAborted();
        await runProcess(command, output, cancel);
        return null;
      },
    };
  },
};

function glooNote({ gpus }: PythonEnvironment, ranks: number): string {
  const why = gpus === 0 ? 'torch sees no GPU' : `gloo was asked for, beside ${gpus} GPUs`;
  return `${why}: ${ranks} ranks run on the CPU with gloo, which proves groups and data, not speed`;
}

function glooQuestions(asked: CommBackend, environment: PythonEnvironment, ranks: number): Question[] {
  const cores = availableParallelism();
  const crowded = ranks > Math.max(SENSIBLE.ranks, SENSIBLE.ranksPerCore * cores);
  const memory = Math.ceil(ranks * RANK_MEMORY);
  return [
    ...(asked === 'auto' ? [{ code: 'cpu' as const, message: `${glooNote(environment, ranks)}.` }] : []),
    ...(crowded
      ? [
          {
            code: 'crowded' as const,
            message: `${ranks} processes on ${cores} cores take about ${memory} GiB of memory, and slow this machine down.`,
          },
        ]
      : []),
  ];
}

/**
 * Finds the interpreter that a local cluster names, or else the first usual one that has torch.
 * @param job the folder of the Python job
 * @throws EnvironmentError where none has
 */
export async function findPython(cluster: LocalCluster, job: string, signal?: AbortSignal): Promise<PythonEnvironment> {
  const reasons: string[] = [];
  for (const python of cluster.python ? [cluster.python] : INTERPRETERS) {
    const found = await probe(python, join(job, 'probe.py'), signal);
    if (typeof found !== 'string') {
      return found;
    }
    reasons.push(`${python}: ${found}`);
  }
  throw new EnvironmentError(
    `No Python with torch was found (${reasons.join('; ')}). Install torch, or name the interpreter in the settings.`,
  );
}

/** What an interpreter can run, or why it cannot run the job. */
async function probe(python: string, script: string, signal?: AbortSignal): Promise<PythonEnvironment | string> {
  try {
    const { stdout } = await execute(python, [script], { timeout: PROBE_TIMEOUT, ...(signal && { signal }) });
    const said: unknown = JSON.parse(stdout);
    if (typeof said !== 'object' || said === null || !('torch' in said) || !('gpus' in said)) {
      return 'is no Python interpreter';
    }
    const { torch, gpus } = said;
    return typeof torch === 'string' && typeof gpus === 'number' ? { python, torch, gpus } : 'has no torch';
  } catch (error) {
    signal?.throwIfAborted();
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) {
    return 'is no Python interpreter';
  }
  if (!(error instanceof Error)) {
    return String(error);
  }
  if ('code' in error && error.code === 'ENOENT') {
    return 'not found';
  }
  const stderr = 'stderr' in error ? String(error.stderr).trim() : '';
  return stderr.split('\n').at(-1) || error.message;
}

/**
 * The backend for so many ranks on this machine: NCCL with a GPU a rank, gloo without any GPU.
 * @throws EnvironmentError with some GPUs but too few: sharing one would prove nothing, and gloo must be asked for
 */
export function chooseBackend(
  wanted: CommBackend,
  { gpus }: Pick<PythonEnvironment, 'gpus'>,
  ranks: number,
): 'nccl' | 'gloo' {
  if (wanted === 'gloo' || (wanted === 'auto' && gpus === 0)) {
    return 'gloo';
  }
  if (gpus < ranks) {
    throw new TooFewGpusError(
      `The layout has ${ranks} ranks, but torch sees ${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'} on this machine. Run on a larger machine, or on the CPU with the backend gloo.`,
    );
  }
  return 'nccl';
}

/** The command that runs a plan on this machine. */
function localCommand(python: string, job: string, plan: string, ranks: number, logs: string): string[] {
  const script = join(job, 'smoke_job.py');
  return [
    ...[python, script, 'referee', '--tether', '--plan', plan, '--'],
    // what --standalone stands for, but at a free port: that of torch 1.13 is fixed, and two jobs would meet there
    ...[python, '-m', 'torch.distributed.run', '--rdzv_backend', 'c10d', '--rdzv_endpoint', 'localhost:0'],
    ...['--rdzv_id', 'smoke', '--nnodes', '1', '--nproc_per_node', String(ranks)],
    ...['--max_restarts', '0', '--monitor_interval', '0.5'],
    // named one by one, because torch 1.13 fails under Python 3.11 without, and with any other value
    ...['--redirects', '1', '--tee', '1', '--log_dir', logs],
    ...[script, 'rank', '--plan', plan],
  ];
}

/** Runs a command in a session of its own; its standard input stays open for as long as this process lives. */
function runProcess(
  [program = '', ...arguments_]: readonly string[],
  output: JobOutput,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(program, arguments_, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    let patience: NodeJS.Timeout | undefined;
    const cancel = () => {
      child.kill('SIGTERM');
      // the ranks' helpers end them when the referee is gone, so this leaves nothing behind either
      patience = setTimeout(() => child.kill('SIGKILL'), CANCEL_GRACE);
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => output.events(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => output.log(text));
    const finish = (settle: () => void) => () => {
      clearTimeout(patience);
      signal.removeEventListener('abort', cancel);
      settle();
    };
    child.once('error', (error) => finish(() => fail(error))());
    child.once('close', finish(done));
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) {
      cancel();
    }
  });
}
