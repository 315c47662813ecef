import { execFile, spawn } from 'node:child_process';
import { addAbortListener } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import {
  type Backend,
  EnvironmentError,
  type JobOutput,
  type Question,
  type SmokeRequest,
  TooFewGpusError,
} from '../backend';
import { BACKEND_FIELD, type Fields, type KindDescription, PYTHON_FIELD, type SettingsOf } from '../clusterFields';
import { type CommBackend, planFor } from '../plan';
import { programEnvironment } from '../programEnvironment';

const execute = promisify(execFile);

const FIELDS = {
  python: {
    ...PYTHON_FIELD,
    description: 'The Python interpreter (3.9 or newer) with torch. Left out: the first on PATH that has torch.',
  },
  backend: BACKEND_FIELD,
} as const satisfies Fields;

/** This machine. */
export interface LocalCluster extends SettingsOf<typeof FIELDS> {
  readonly name: string;
  readonly kind: 'local';
}

/** How a user writes down this machine. */
export const LOCAL_KIND: KindDescription = {
  kind: 'local',
  description: 'This machine: the smoke job starts all ranks.',
  fields: FIELDS,
  required: [],
  snippet: { python: 'python3' },
};

/** The time limit of the probe of an interpreter: importing torch is slow on a cold disk. Milliseconds. */
const PROBE_TIMEOUT = 120_000;

/** How long a cancelled job may take to end by itself, in milliseconds. */
const CANCEL_GRACE = 15_000;

/** Up to this many ranks, in all or on each core, a run does not ask first: ranks mostly wait for each other. */
const SENSIBLE = { ranks: 16, ranksPerCore: 4 } as const;

/** Memory of a rank on the CPU, with torch, in GiB. */
const RANK_MEMORY = 0.25;

/** Interpreters to try where the cluster names none; the first with torch is used. */
const INTERPRETERS = ['python3', 'python', '/usr/bin/python3'];

/** A Python interpreter with torch. */
export interface PythonEnvironment {
  readonly python: string;
  readonly torch: string;
  /** GPUs that torch sees on this machine. */
  readonly gpus: number;
}

/** The plan's file in the folder of the run, the current directory of the referee. */
const PLAN_FILE = 'plan.json';

/** This machine: the referee starts all ranks. */
export const localBackend: Backend<LocalCluster> = {
  async prepare(request, signal) {
    const { plan, cluster, jobFolder } = request;
    if (process.platform === 'win32') {
      throw new EnvironmentError('The smoke job needs Linux or macOS. On Windows, run it inside WSL.');
    }
    const asked = request.backend ?? cluster.backend ?? 'auto';
    const { environment, backend, notes } = await choose(request, asked, signal);
    const written = planFor(plan, backend);
    const start = [environment.python, join(jobFolder, 'smoke_job.py'), 'referee', '--own-folder', '--plan'];
    return {
      plan: written,
      planFile: PLAN_FILE,
      backend,
      command: [...start, PLAN_FILE],
      files: [],
      notes: [...notes, ...(backend === 'gloo' ? [glooNote(environment, plan.world_size)] : [])],
      questions: backend === 'gloo' ? glooQuestions(asked, environment, plan.world_size) : [],
      async run(output, cancel, folder) {
        const planFile = join(folder, PLAN_FILE);
        await writeFile(planFile, JSON.stringify(written));
        cancel.throwIfAborted();
        await runProcess([...start, planFile, '--parent-pipe'], folder, output, cancel);
        return null;
      },
    };
  },
};

/**
 * The interpreter and backend of a job, and what the user must know about them.
 * @throws EnvironmentError where this machine cannot run the job
 */
async function choose(
  { plan, cluster, jobFolder, dryRun }: SmokeRequest<LocalCluster>,
  asked: CommBackend,
  signal?: AbortSignal,
): Promise<{ environment: PythonEnvironment; backend: 'nccl' | 'gloo'; notes: string[] }> {
  let environment: PythonEnvironment | undefined;
  try {
    environment = await findPython(cluster, jobFolder, signal);
    return { environment, backend: chooseBackend(asked, environment, plan.world_size), notes: [] };
  } catch (error) {
    if (!dryRun || !(error instanceof EnvironmentError)) {
      throw error;
    }
    return {
      environment: environment ?? { python: cluster.python ?? 'python3', torch: '', gpus: 0 },
      backend: asked === 'gloo' ? 'gloo' : 'nccl',
      notes: [`not on this machine: ${error.message}`],
    };
  }
}

function glooNote({ gpus, torch }: PythonEnvironment, ranks: number): string {
  const found = gpus === 0 ? 'torch sees no GPU' : `gloo was asked for, beside ${gpus} GPUs`;
  const why = torch === '' ? 'gloo was asked for' : found;
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
 * @param jobFolder the folder of the Python job
 * @throws EnvironmentError where none has
 */
async function findPython(cluster: LocalCluster, jobFolder: string, signal?: AbortSignal): Promise<PythonEnvironment> {
  const reasons: string[] = [];
  // a bare name is looked up on PATH, and a path must be valid in any directory
  const named = cluster.python?.includes('/') ? resolve(cluster.python) : cluster.python;
  for (const python of named ? [named] : INTERPRETERS) {
    const found = await probe(python, join(jobFolder, 'probe.py'), signal);
    if (typeof found !== 'string') {
      return found;
    }
    reasons.push(`${python}: ${found}`);
  }
  throw new EnvironmentError(
    `No Python with torch was found (${reasons.join('; ')}). Install torch, or name the interpreter in the settings.`,
  );
}

/** The environment of an interpreter, or why it cannot run the job. */
async function probe(python: string, script: string, signal?: AbortSignal): Promise<PythonEnvironment | string> {
  try {
    // an empty entry of PYTHONPATH means the current directory, which must not be a stranger's
    const cwd = dirname(script);
    const { stdout } = await execute(python, [script], {
      cwd,
      env: programEnvironment(),
      timeout: PROBE_TIMEOUT,
      ...(signal && { signal }),
    });
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
 * The backend for a number of ranks on this machine: NCCL with a GPU for each rank, gloo without any GPU.
 * @throws EnvironmentError with too few GPUs: ranks that share a GPU prove nothing, and gloo must be asked for
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

/**
 * Runs a command in a session of its own; its standard input stays open as long as this process lives.
 * @param folder the current directory, where relative entries of PATH and PYTHONPATH find nothing of a stranger's
 */
function runProcess(
  [program = '', ...arguments_]: readonly string[],
  folder: string,
  output: JobOutput,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(program, arguments_, {
      cwd: folder,
      env: programEnvironment(),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    let patience: NodeJS.Timeout | undefined;
    const cancel = () => {
      child.kill('SIGTERM');
      // a stopped process handles signals only after it continues
      child.kill('SIGCONT');
      // the helpers of the ranks end them when the referee is gone
      patience = setTimeout(() => child.kill('SIGKILL'), CANCEL_GRACE);
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => output.events(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => output.log(text));
    const listening = addAbortListener(signal, cancel);
    child.once('error', fail);
    // after an error, too
    child.once('close', () => {
      clearTimeout(patience);
      listening[Symbol.dispose]();
      done();
    });
  });
}
