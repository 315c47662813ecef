import { spawn } from 'node:child_process';
import { EnvironmentError } from '../backend';
import { programEnvironment } from '../programEnvironment';

/** How long one call of kubectl may take, in milliseconds; following a log is no such call. */
const CALL_LIMIT = 60_000;

/** What a call of kubectl came to. */
export interface CallResult {
  /** Null where it did not end by itself. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The user's own kubectl, for one context and one namespace. */
export class Kubectl {
  readonly #scope: readonly string[];

  constructor({ context, namespace }: { readonly context?: string; readonly namespace?: string }) {
    this.#scope = [
      ...(context === undefined ? [] : [`--context=${context}`]),
      ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
    ];
  }

  /** The whole command for some words, as an array: no shell reads it. */
  command(words: readonly string[]): string[] {
    return ['kubectl', ...this.#scope, ...words];
  }

  /**
   * Calls kubectl and waits for its end.
   * @param input what it reads from its standard input
   * @throws EnvironmentError where there is no kubectl
   */
  async call(words: readonly string[], input = '', signal?: AbortSignal): Promise<CallResult> {
    let stdout = '';
    const limit = AbortSignal.timeout(CALL_LIMIT);
    const either = signal ? AbortSignal.any([signal, limit]) : limit;
    const { status, stderr } = await this.stream(
      words,
      (text) => {
        stdout += text;
      },
      either,
      input,
    );
    signal?.throwIfAborted();
    return { status, stdout, stderr: limit.aborted ? `kubectl gave no answer within ${CALL_LIMIT / 1000} s` : stderr };
  }

  /**
   * What a call wrote.
   * @throws EnvironmentError with kubectl's own reason where the call failed
   */
  async text(words: readonly string[], input?: string, signal?: AbortSignal): Promise<string> {
    const { status, stdout, stderr } = await this.call(words, input, signal);
    if (status !== 0) {
      throw new EnvironmentError(reasonOf(stderr));
    }
    return stdout;
  }

  /**
   * Runs kubectl and hands on what it writes as it comes.
   * @param signal ends it
   * @throws EnvironmentError where there is no kubectl
   */
  stream(
    words: readonly string[],
    take: (text: string) => void,
    signal: AbortSignal,
    input = '',
  ): Promise<Omit<CallResult, 'stdout'>> {
    const [program = '', ...rest] = this.command(words);
    return new Promise((done, fail) => {
      const child = spawn(program, rest, { env: programEnvironment(), stdio: ['pipe', 'pipe', 'pipe'] });
      let stderr = '';
      const stop = () => child.kill('SIGTERM');
      signal.addEventListener('abort', stop, { once: true });
      child.stdout.setEncoding('utf8').on('data', take);
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      // a kubectl that ends before it has read everything says why on its standard error
      child.stdin.on('error', () => undefined).end(input);
      child.once('error', (error) => {
        signal.removeEventListener('abort', stop);
        fail(new EnvironmentError(`kubectl cannot be started (${error.message}). Install it, or put it on the PATH.`));
      });
      child.once('close', (status) => {
        signal.removeEventListener('abort', stop);
        done({ status, stderr });
      });
      if (signal.aborted) {
        stop();
      }
    });
  }
}

/** kubectl's reason without its warnings and what they are prefixed with. */
export function reasonOf(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !/^(Warning:|[EWI]\d{4} )/.test(line));
  return `kubectl: ${
    lines
      .join(' ')
      .replace(/^error: |^Error from server(?: \(\w+\))?: /, '')
      .trim() ||
    stderr.trim() ||
    'failed without a word'
  }`;
}
