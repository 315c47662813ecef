import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { LocalCluster } from './clusters';
import type { CommBackend } from './plan';

const run = promisify(execFile);

/** How long one look at an interpreter may take: importing torch is slow on a cold disk. Milliseconds. */
const PROBE_TIMEOUT = 120_000;

const PROBE = `
import json, sys
import torch
print(json.dumps({"torch": torch.__version__, "gpus": torch.cuda.device_count() if torch.cuda.is_available() else 0}))
`;

/** What a Python interpreter can run. */
export interface PythonEnvironment {
  readonly python: string;
  readonly torch: string;
  /** GPUs that torch sees on this machine. */
  readonly gpus: number;
}

/** The machine cannot run the job; the message says what is missing and what to do. */
export class EnvironmentError extends Error {}

/**
 * Finds the interpreter that a local cluster names, or else the first usual one that has torch.
 * @throws EnvironmentError where none has
 */
export async function findPython(cluster: LocalCluster, signal?: AbortSignal): Promise<PythonEnvironment> {
  const candidates = cluster.python ? [cluster.python] : ['python3', 'python', '/usr/bin/python3'];
  const reasons: string[] = [];
  for (const python of candidates) {
    try {
      const { stdout } = await run(python, ['-c', PROBE], { timeout: PROBE_TIMEOUT, ...(signal && { signal }) });
      const { torch, gpus } = JSON.parse(stdout) as { torch: string; gpus: number };
      return { python, torch, gpus };
    } catch (error) {
      signal?.throwIfAborted();
      reasons.push(`${python}: ${reasonOf(error)}`);
    }
  }
  throw new EnvironmentError(
    `No Python with torch was found (${reasons.join('; ')}). Install torch, or name the interpreter in the settings.`,
  );
}

function reasonOf(error: unknown): string {
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
export function chooseBackend(wanted: CommBackend, { gpus }: PythonEnvironment, ranks: number): 'nccl' | 'gloo' {
  if (wanted === 'gloo' || (wanted === 'auto' && gpus === 0)) {
    return 'gloo';
  }
  if (gpus < ranks) {
    throw new EnvironmentError(
      `The layout has ${ranks} ranks, but this machine has ${gpus} GPUs. Run on a larger machine, or on the CPU with the backend gloo.`,
    );
  }
  return 'nccl';
}

/** The command that runs a plan on this machine, as an array: no shell reads it. */
export function localCommand(python: string, job: string, plan: string): string[] {
  return [python, job, 'local', '--plan', plan];
}
