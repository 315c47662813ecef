import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { posixQuoted } from '../../layout';
import { programEnvironment } from '../programEnvironment';

/** The time limit of a script, in milliseconds. */
const PATIENCE = 120_000;

/** The first line of a script's output; lines before it are a greeting of the login shell. */
const MARK = 'parallelism-layout-begins';

/** The exit status of ssh itself, not of the command. */
const SSH_FAILED = 255;

/** ssh never prompts, gives up on a silent host, and only runs the command. */
const SSH_OPTIONS = [
  ...['BatchMode=yes', 'ConnectTimeout=15', 'ServerAliveInterval=15', 'ServerAliveCountMax=4', 'LogLevel=ERROR'],
  ...['RemoteCommand=none', 'RequestTTY=no', 'ClearAllForwardings=yes'],
].flatMap((option) => ['-o', option]);

/** The host cannot be reached or was lost; the message is that of ssh. */
export class ConnectionError extends Error {
  /** @param begun whether the script had begun */
  constructor(
    message: string,
    readonly begun: boolean,
  ) {
    super(message);
  }
}

/** The result of a script. */
export interface ScriptResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * What the standard input of `sh -s` is: the words become `$1`, `$2` and so on, and the script is the same whatever they
 * are.
 */
function scriptText(script: string, words: readonly string[]): string {
  return `set -- ${words.map(posixQuoted).join(' ')}\nprintf '%s\\n' ${MARK}\n${script}`;
}

/**
 * The POSIX shell of this machine, or of another one through ssh. It is always called as `sh -s` and reads its script, with
 * its words, from standard input: no shell, whichever the user logs in to, sees a value in a command.
 */
export class Shell {
  /** @param host a destination of ssh; left out: this machine */
  constructor(readonly host?: string) {}

  /** The command that starts the shell. */
  get command(): readonly string[] {
    return this.host === undefined ? ['sh', '-s'] : ['ssh', ...SSH_OPTIONS, '--', this.host, 'exec sh -s'];
  }

  /** The machine's name in messages. */
  get place(): string {
    return this.host ?? 'this machine';
  }

  /**
   * Runs a script to its end.
   * @throws ConnectionError where the host cannot be reached, or is lost
   */
  async run(script: string, words: readonly string[]): Promise<ScriptResult> {
    let stdout = '';
    const session = this.start(script, words, (data) => {
      stdout += data.toString('utf8');
    });
    const patience = setTimeout(() => session.stop(), PATIENCE);
    try {
      const { status, stderr } = await session.ended;
      return { status, stdout, stderr };
    } finally {
      clearTimeout(patience);
    }
  }

  /** Starts a script; `read` receives its output. */
  start(script: string, words: readonly string[], read: (data: Buffer) => void): Session {
    return new Session(this, scriptText(script, words), read);
  }
}

/** A running script. */
export class Session {
  /**
   * Once the script has ended.
   * @throws ConnectionError where the host cannot be reached, or is lost
   */
  readonly ended: Promise<{ status: number; stderr: string }>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;

  constructor(shell: Shell, input: string, read: (data: Buffer) => void) {
    const [program = '', ...words] = shell.command;
    // in a session of its own: no terminal for prompts, and Ctrl+C reaches only this process; on Windows it would open a window
    const detached = process.platform !== 'win32';
    this.#child = spawn(program, words, {
      env: programEnvironment(),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached,
      windowsHide: true,
    });
    const greeting = new Greeting(read);
    let stderr = '';
    this.#child.stdout.on('data', (data: Buffer) => greeting.feed(data));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-4000);
    });
    // a shell that has ended does not read its input
    this.#child.stdin.on('error', () => undefined);
    this.#child.stdin.end(input);
    this.ended = new Promise((done, fail) => {
      this.#child.once('error', (error) => fail(new ConnectionError(error.message, false)));
      this.#child.once('close', (code, killed) => {
        if (killed !== null || !greeting.over || (shell.host !== undefined && code === SSH_FAILED)) {
          const said = stderr.trim().split('\n').at(-1);
          fail(new ConnectionError(said || `no answer from ${shell.place}`, greeting.over));
        } else {
          done({ status: code ?? 0, stderr: stderr.trim() });
        }
      });
    });
  }

  /** Ends the shell on this machine; a script on another one ends at its next output. */
  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Skips the greeting of a login shell. */
class Greeting {
  #rest: Buffer | null = Buffer.alloc(0);

  constructor(readonly read: (data: Buffer) => void) {}

  get over(): boolean {
    return this.#rest === null;
  }

  feed(data: Buffer): void {
    if (this.#rest === null) {
      this.read(data);
      return;
    }
    const all = Buffer.concat([this.#rest, data]);
    const at = all.indexOf(`${MARK}\n`);
    this.#rest = at < 0 ? all : null;
    if (at >= 0 && all.length > at + MARK.length + 1) {
      this.read(all.subarray(at + MARK.length + 1));
    }
  }
}
