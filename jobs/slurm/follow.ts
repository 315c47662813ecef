import { addAbortListener } from 'node:events';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { DETACH, DetachedError, type Ending, EnvironmentError, type JobOutput } from '../backend';
import { CANCEL, CLEAN, FOLLOW } from './scripts';
import { ConnectionError, type Session, type Shell } from './shell';
import { endingOf, jobState, parseState, type SlurmState } from './states';

/** Polling intervals and time limits, in seconds. */
export interface Timing {
  /** Between two reads of the run's files. */
  readonly files: number;
  /** Between two calls of squeue, which load the controller of the whole cluster. */
  readonly squeue: number;
  /** Without a connection, until the client gives up; the job keeps running. */
  readonly patience: number;
}

/** The id of a job and the folder of its files, to follow it again. */
export interface SlurmTicket {
  readonly job: string;
  readonly folder: string;
}

/** The longest wait between two attempts to connect, in seconds. */
const LONGEST_WAIT = 30;

/**
 * Follows a job to its end and removes its files. A lost connection is made again and continues where it broke off.
 * @param signal cancels the job; for the reason DETACH it keeps running
 * @throws EnvironmentError where the host stays lost: the job keeps running
 * @throws DetachedError
 */
export async function followJob(
  shell: Shell,
  ticket: SlurmTicket,
  timing: Timing,
  output: JobOutput,
  signal: AbortSignal,
): Promise<Ending | null> {
  const follower = new Follower(shell, ticket, timing, output);
  const listening = addAbortListener(signal, () => follower.stop(signal));
  try {
    const ending = await follower.toTheEnd();
    await clean(shell, ticket, output);
    return ending;
  } finally {
    listening[Symbol.dispose]();
  }
}

/** Removes the files of a run; logs it if that fails. */
async function clean(shell: Shell, { folder }: SlurmTicket, output: JobOutput): Promise<void> {
  const why = await shell.run(CLEAN, [folder]).then(
    ({ status, stderr }) => (status === 0 ? null : stderr),
    (error: unknown) => String(error),
  );
  if (why !== null) {
    output.log(`${folder} on ${shell.place} could not be removed: ${why}\n`);
  }
}

class Follower {
  readonly #texts = { events: new StringDecoder(), log: new StringDecoder() };
  /** The bytes of each file that have been read. */
  readonly #known = { events: 0, log: 0 };
  #session: Session | null = null;
  #last: SlurmState = parseState('UNKNOWN');
  #nodes = '';
  #cancelled = false;
  #detached = false;
  #over = false;
  #contact = Date.now();
  /** Ends a wait between two attempts. */
  #hurry = new AbortController();

  constructor(
    readonly shell: Shell,
    readonly ticket: SlurmTicket,
    readonly timing: Timing,
    readonly output: JobOutput,
  ) {}

  /** Cancels the job, or detaches from it. */
  stop({ reason }: AbortSignal): void {
    if (reason === DETACH) {
      this.#detached = true;
      this.#session?.stop();
      this.#hurry.abort();
      return;
    }
    this.#cancelled = true;
    void this.#cancel();
  }

  /** Follows the job to its end; returns how Slurm ended it, if it did. */
  async toTheEnd(): Promise<Ending | null> {
    try {
      await this.#untilOver();
    } finally {
      this.#over = true;
    }
    if (!this.#cancelled) {
      return endingOf(this.ticket.job, this.#last, this.#nodes);
    }
    return this.#last.state.startsWith('CANCELLED')
      ? { code: 'cancelled', message: `Slurm job ${this.ticket.job} was cancelled.` }
      : null;
  }

  async #untilOver(): Promise<void> {
    for (let attempt = 0; !this.#over; attempt++) {
      const before = this.#contact;
      const lost = await this.#connect();
      if (this.#detached) {
        throw new DetachedError(`Slurm job ${this.ticket.job} is still running.`);
      }
      if (lost !== null && !this.#over) {
        attempt = this.#contact > before ? 0 : attempt;
        await this.#wait(lost, attempt);
      }
    }
  }

  /** Follows the job until the connection ends; returns why it was lost, or null where it was ended on purpose. */
  async #connect(): Promise<string | null> {
    const { files, squeue } = this.timing;
    const { job, folder } = this.ticket;
    const words = [folder, job, this.#known.events, this.#known.log, files, squeue].map(String);
    const frames = new Frames((name, body) => this.#take(name, body));
    const session = this.shell.start(FOLLOW, words, (data) => frames.feed(data));
    this.#session = session;
    try {
      const { status, stderr } = await session.ended;
      if (status !== 0) {
        throw new EnvironmentError(`${this.shell.place}: ${stderr}`);
      }
      return this.#over ? null : 'the connection was closed';
    } catch (error) {
      if (!(error instanceof ConnectionError)) {
        throw error;
      }
      return this.#session === session ? error.message : null;
    } finally {
      this.#session = null;
    }
  }

  #take(name: string, body: string | Buffer): void {
    this.#contact = Date.now();
    if (typeof body !== 'string') {
      const file = name === 'events' ? 'events' : 'log';
      this.#known[file] += body.length;
      this.output[file](this.#texts[file].write(body));
    } else if (name === 'state') {
      this.#last = parseState(body);
      this.#nodes = this.#last.nodes || this.#nodes;
      this.output.state(jobState(this.ticket.job, this.#last));
    } else if (name === 'trouble') {
      this.output.state({ job: this.ticket.job, phase: 'disconnected', detail: body });
    } else if (name === 'over') {
      this.#over = true;
    }
  }

  /** Waits before the next attempt to connect, ever longer. */
  async #wait(lost: string, attempt: number): Promise<void> {
    const { job } = this.ticket;
    if (Date.now() - this.#contact > this.timing.patience * 1000) {
      throw new EnvironmentError(
        `The connection to ${this.shell.place} is lost (${lost}). Slurm job ${job} keeps running, and can be followed again.`,
      );
    }
    const seconds = Math.min(2 ** attempt, LONGEST_WAIT);
    this.output.state({
      job,
      phase: 'disconnected',
      detail: `${this.shell.place}: ${lost}; next attempt in ${seconds} s`,
    });
    await sleep(seconds * 1000, undefined, { signal: this.#hurry.signal }).catch(() => undefined);
  }

  /** Cancels the job by its id, with retries, and then reads its state without delay. */
  async #cancel(): Promise<void> {
    for (let attempt = 0; !this.#over; attempt++) {
      try {
        const { status, stderr } = await this.shell.run(CANCEL, [this.ticket.job]);
        if (status === 0 || /Invalid job id|already complet/i.test(stderr)) {
          break;
        }
        this.output.log(`scancel: ${stderr}\n`);
      } catch (error) {
        this.output.log(`scancel: ${error instanceof Error ? error.message : String(error)}\n`);
      }
      await sleep(1000 * Math.min(2 ** attempt, LONGEST_WAIT));
    }
    const session = this.#session;
    this.#session = null;
    session?.stop();
    this.#hurry.abort();
    this.#hurry = new AbortController();
  }
}

/** Cuts the output of FOLLOW into frames. */
class Frames {
  #rest: Buffer = Buffer.alloc(0);

  /** @param take receives a frame's name and its text or bytes */
  constructor(readonly take: (name: string, body: string | Buffer) => void) {}

  feed(data: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, data]);
    for (let used = this.#frame(); used > 0; used = this.#frame()) {
      this.#rest = this.#rest.subarray(used);
    }
  }

  /** Takes the first frame of the rest; returns its length, 0 for an incomplete frame. */
  #frame(): number {
    const end = this.#rest.indexOf('\n');
    if (end < 0) {
      return 0;
    }
    const [, name = '', text = ''] = /^(\S*) ?(.*)$/s.exec(this.#rest.toString('utf8', 0, end)) ?? [];
    if (name !== 'events' && name !== 'log') {
      this.take(name, text);
      return end + 1;
    }
    const whole = end + 1 + Number(text);
    if (this.#rest.length < whole) {
      return 0;
    }
    this.take(name, this.#rest.subarray(end + 1, whole));
    return whole;
  }
}
