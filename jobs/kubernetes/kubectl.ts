import { spawn } from 'node:child_process';
import { EnvironmentError } from '../backend';
import { programEnvironment } from '../programEnvironment';

/** The time limit of a call of kubectl, except of one that follows a log. Milliseconds. */
const CALL_LIMIT = 60_000;

/** The result of a call of kubectl. */
export interface CallResult {
  /** Null where a signal ended it. */
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

  /** The whole command as an array: no shell reads it. */
  command(words: readonly string[]): string[] {
    return ['kubectl', ...this.#scope, ...words];
  }

  /**
   * Calls kubectl and waits for its end.
   * @param input its standard input
   * @throws EnvironmentError where there is no kubectl
   */
  async call(words: readonly string[], input = '', signal?: AbortSignal): Promise<CallResult> {
    const pieces: string[] = [];
    const limit = AbortSignal.timeout(CALL_LIMIT);
    const either = signal ? AbortSignal.any([signal, limit]) : limit;
    const { status, stderr } = await this.stream(words, (text) => pieces.push(text), either, input);
    signal?.throwIfAborted();
    const late = limit.aborted ? `kubectl gave no answer within ${CALL_LIMIT / 1000} s` : stderr;
    return { status, stdout: pieces.join(''), stderr: late };
  }

  /**
   * Runs kubectl and passes its output on as it arrives.
   * @param signal ends it
   * @throws EnvironmentError where there is no kubectl
   */
  stream(
    words: readonly string[],
    take: (text: string) => unknown,
    signal: AbortSignal,
    input = '',
  ): Promise<Omit<CallResult, 'stdout'>> {
    const [program = '', ...rest] = this.command(words);
    return new Promise((done, fail) => {
      const child = spawn(program, rest, { env: programEnvironment(), stdio: ['pipe', 'pipe', 'pipe'], signal });
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', take);
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      // a kubectl that ends before it has read its input says why on standard error
      child.stdin.on('error', () => undefined).end(input);
      child.on('error', (error) => {
        // one that the signal ends closes, too
        if (error.name !== 'AbortError') {
          fail(
            new EnvironmentError(`kubectl cannot be started (${error.message}). Install it, or put it on the PATH.`),
          );
        }
      });
      child.once('close', (status) => done({ status, stderr }));
    });
  }
}

/** kubectl's error message without warnings and prefixes. */
export function reasonOf(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !/^(Warning:|[EWI]\d{4} )/.test(line));
  const reason = lines.join(' ').replace(/^error: |^Error from server(?: \(\w+\))?: /, '');
  return `kubectl: ${reason.trim() || stderr.trim() || 'failed without a message'}`;
}
