import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { NODE } from './programs';

const CLI = resolve('dist/cli.js');
const load = createRequire(CLI);

/** What a run of the command line leaves. */
export interface Done {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the built command line inside this process, without the time that a process takes to start. For commands that read no
 * standard input and receive no signals; one at a time.
 * @param folder the current directory
 */
export async function cli(folder: string, ...args: readonly string[]): Promise<Done> {
  if (process.env.PROGRAM_NODE) {
    return cliProcess(folder, args);
  }
  const before = { argv: process.argv, folder: process.cwd(), status: process.exitCode, env: process.env };
  const stdout = new Captured(process.stdout);
  const stderr = new Captured(process.stderr);
  process.argv = [process.execPath, CLI, ...args];
  process.env = { ...process.env, NO_COLOR: '1' };
  process.exitCode = 0;
  process.chdir(folder);
  try {
    // a new instance each time: a process starts without state
    delete load.cache[CLI];
    await (load(CLI) as { readonly ended: Promise<void> }).ended;
    return { status: Number(process.exitCode), stdout: stdout.text, stderr: stderr.text };
  } finally {
    stdout.release();
    stderr.release();
    process.argv = before.argv;
    process.env = before.env;
    process.exitCode = before.status;
    process.chdir(before.folder);
  }
}

/** Collects what is written to a stream of this process until it is released. */
class Captured {
  text = '';
  readonly #write: typeof process.stdout.write;
  readonly #listeners: readonly unknown[];

  constructor(readonly stream: NodeJS.WriteStream) {
    this.#write = stream.write;
    this.#listeners = stream.listeners('error');
    stream.write = (chunk: string | Uint8Array) => {
      this.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      return true;
    };
  }

  release(): void {
    this.stream.write = this.#write;
    for (const listener of this.stream.listeners('error').filter((one) => !this.#listeners.includes(one))) {
      this.stream.off('error', listener as () => void);
    }
  }
}

/** How a process of the command line is started. */
interface ProcessOptions {
  readonly input?: string | Uint8Array;
  readonly env?: NodeJS.ProcessEnv;
  readonly nodeOptions?: readonly string[];
  /** Another copy of the built program. */
  readonly program?: string;
}

/** Runs the built command line as a process of its own. */
export async function cliProcess(folder: string, args: readonly string[], options: ProcessOptions = {}): Promise<Done> {
  const { input = '', env = { NO_COLOR: '1' }, nodeOptions = [], program = CLI } = options;
  const child = spawn(NODE, [...nodeOptions, program, ...args], { cwd: folder, env: { ...process.env, ...env } });
  // a command that refuses its arguments does not read its input
  child.stdin.on('error', () => undefined).end(input);
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status: status ?? -1, stdout, stderr };
}
