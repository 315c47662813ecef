import { addAbortListener } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { DETACH, DetachedError, type Ending, EnvironmentError, type JobOutput, type JobState } from '../backend';
import { parseEvent, type SmokeEvent } from '../events';
import { type Kubectl, reasonOf } from './kubectl';
import { LogReader } from './logs';
import { INSTANCE_LABEL } from './manifest';
import { isSuspended, lastEvent, type PodState, podsText, readPods } from './pods';

/** Polling intervals and time limits, in seconds. */
export interface Timing {
  /** Between two looks at the pods. */
  readonly pods: number;
  /** Without an answer, until the client gives up; the job keeps running. */
  readonly patience: number;
  /** After the last event, until the client stops reading the log. */
  readonly lastWords: number;
  /** Until deleted pods must be gone. */
  readonly farewell: number;
}

/** A job in a cluster, to follow and to delete. */
export interface KubernetesJob {
  readonly name: string;
  /** All objects of the run, as kubectl names them; the first is the job. */
  readonly objects: readonly string[];
  readonly container: string;
  readonly pods: number;
}

/**
 * Follows a job to its end: its pods, why they wait, and the events in the log of the first. Then deletes all its objects and
 * waits until its pods are gone.
 * @param signal cancels and deletes the job; for the reason DETACH it keeps running
 * @throws DetachedError
 * @throws EnvironmentError where the cluster does not answer for too long: the job keeps running
 */
export async function followJob(
  kubectl: Kubectl,
  job: KubernetesJob,
  timing: Timing,
  output: JobOutput,
  signal: AbortSignal,
): Promise<Ending | null> {
  const follower = new Follower(kubectl, job, timing, output, signal);
  const listening = addAbortListener(signal, () => void follower.cancel());
  try {
    const ending = await follower.toTheEnd();
    await deleteJob(kubectl, job, timing, output);
    return ending;
  } finally {
    listening[Symbol.dispose]();
  }
}

/** Deletes the objects of a job and waits until its pods are gone. Logs what is left. */
export async function deleteJob(
  kubectl: Kubectl,
  { name, objects }: KubernetesJob,
  { farewell }: Timing,
  output: JobOutput,
): Promise<void> {
  const { status, stderr } = await kubectl.call(['delete', ...DELETE_OPTIONS, ...objects]);
  if (status !== 0) {
    output.log(`${reasonOf(stderr)}\nNot deleted: ${objects.join(' ')}\n`);
    return;
  }
  const until = Date.now() + farewell * 1000;
  for (;;) {
    const left = await kubectl.call(['get', 'pods', `--selector=${INSTANCE_LABEL}=${name}`, '--output=name']);
    if (left.status === 0 && left.stdout.trim() === '') {
      return;
    }
    if (Date.now() > until) {
      output.log(`Pods that are not gone yet: ${left.stdout.trim().replaceAll('\n', ' ') || reasonOf(left.stderr)}\n`);
      return;
    }
    await sleep(500);
  }
}

const DELETE_OPTIONS = ['--ignore-not-found=true', '--wait=false'];

class Follower {
  readonly #reader = new LogReader();
  /** Ends all waiting and reading once the job has ended. */
  readonly #over = new AbortController();
  #pods: readonly PodState[] = [];
  #end: Extract<SmokeEvent, { ev: 'end' }> | null = null;
  #cancelled: number | null = null;
  #broken = '';
  #answered = Date.now();

  constructor(
    readonly kubectl: Kubectl,
    readonly job: KubernetesJob,
    readonly timing: Timing,
    readonly output: JobOutput,
    readonly signal: AbortSignal,
  ) {}

  async toTheEnd(): Promise<Ending | null> {
    const over = () => this.#over.abort();
    // the one that ends first ends the other: a cluster that does not answer has no log either
    await Promise.all([this.#watchPods().finally(over), this.#followLog().finally(over)]);
    if (this.signal.aborted && this.#cancelled === null) {
      throw new DetachedError(`The job ${this.job.name} is still running.`);
    }
    if (this.#end === null || this.#end.verdict === 'cancelled') {
      await this.#look();
    }
    return this.#ending();
  }

  async cancel(): Promise<void> {
    if (this.signal.reason === DETACH) {
      this.#over.abort();
      return;
    }
    this.#cancelled = Date.now();
    this.#tell('ending', 'deleting the job');
    // the referee gets a signal, writes its verdict, and ends its pod; the other objects are deleted at the end
    await this.kubectl.call(['delete', ...DELETE_OPTIONS, ...this.job.objects.slice(0, 1)]).catch(() => undefined);
  }

  // ---- pods

  async #watchPods(): Promise<void> {
    do {
      await this.#look();
    } while (await this.#pause(this.timing.pods));
  }

  /** Reads the pods once, and reports changes. */
  async #look(): Promise<void> {
    const { status, stdout, stderr } = await this.kubectl.call([
      ...['get', 'pods', `--selector=${INSTANCE_LABEL}=${this.job.name}`, '--output=json'],
    ]);
    const pods = status === 0 ? readPods(stdout) : null;
    if (!pods) {
      this.#unanswered(status === 0 ? 'the answer of kubectl breaks off' : reasonOf(stderr));
      return;
    }
    this.#answered = Date.now();
    this.#pods = pods;
    if (this.#cancelled === null) {
      this.#tell(...(await this.#standing()));
    }
  }

  #unanswered(why: string): void {
    const seconds = (Date.now() - this.#answered) / 1000;
    if (seconds > this.timing.patience) {
      throw new EnvironmentError(
        `The cluster has not answered for ${Math.round(seconds)} s (${why}). The job ${this.job.name} may still be running; \`kubectl delete ${this.job.objects.join(' ')}\` deletes it.`,
      );
    }
    this.#tell('disconnected', why);
  }

  async #standing(): Promise<[JobState['phase'], string]> {
    const text = podsText(this.#pods, this.job.pods);
    const waits = this.#pods.length < this.job.pods || this.#pods.some(({ phase }) => phase === 'waiting');
    if (!waits) {
      const nodes = [...new Set(this.#pods.flatMap(({ node }) => node ?? []))];
      return ['running', nodes.length > 0 ? nodes.join(', ') : text];
    }
    const known = this.#pods.some(({ reason }) => reason !== undefined);
    const why = known ? undefined : await this.#whyNoPods();
    return [this.#first()?.phase === 'running' ? 'running' : 'queued', why === undefined ? text : `${text}; ${why}`];
  }

  /** Why there are no pods: a queue, a quota, a webhook. Needs the permission to read events. */
  async #whyNoPods(): Promise<string | undefined> {
    const [job = ''] = this.job.objects;
    const events = await this.kubectl.call(['get', 'events', '--output=json']);
    const said = events.status === 0 ? lastEvent(events.stdout, this.job.name) : undefined;
    if (said !== undefined || this.#pods.length > 0) {
      return said;
    }
    const { status, stdout } = await this.kubectl.call(['get', job, '--output=json']);
    return status === 0 && isSuspended(stdout) ? 'the job is suspended: it waits in its queue' : undefined;
  }

  #first(): PodState | undefined {
    return this.#pods.find(({ first }) => first);
  }

  // ---- the log

  /** Reads the whole log of the first pod, over as many connections as it takes. */
  async #followLog(): Promise<void> {
    let seen: PodState | undefined;
    while (!this.#over.signal.aborted && !this.#tooLate()) {
      // before the log is read: the log of a pod that has ended is complete
      const pod = this.#first();
      if (pod && pod.phase !== 'waiting') {
        const whole = await this.#readLog(pod.name);
        const ended = this.#end !== null || pod.phase === 'succeeded' || pod.phase === 'failed';
        if (whole && ended) {
          return;
        }
      } else if (!pod && (seen || (await this.#isGone()))) {
        return;
      }
      seen = pod ?? seen;
      await this.#pause(this.timing.pods / 2);
    }
  }

  /** One connection; whether it came to the end of the log. */
  async #readLog(pod: string): Promise<boolean> {
    const words = [
      'logs',
      pod,
      `--container=${this.job.container}`,
      '--follow',
      '--timestamps',
      ...this.#reader.connect(),
    ];
    const { status, stderr } = await this.kubectl.stream(words, (text) => this.#read(text), this.#over.signal);
    const broken = status !== 0 && this.#end === null && this.#cancelled === null ? reasonOf(stderr) : '';
    if (broken !== '' && broken !== this.#broken) {
      this.output.log(`${broken}: reading the log again\n`);
    }
    this.#broken = broken;
    return status === 0;
  }

  #read(text: string): void {
    for (const line of this.#reader.feed(text)) {
      const event = parseEvent(line);
      this.output.events(`${line}\n`);
      if (event?.ev === 'end') {
        this.#end = event;
        void this.#leaveLog();
      }
    }
  }

  /** Stops reading the log some time after the last event: nodes may deliver lines late. */
  async #leaveLog(): Promise<void> {
    await this.#pause(this.timing.lastWords);
    this.#over.abort();
  }

  /** Whether the job has been deleted. */
  async #isGone(): Promise<boolean> {
    const [job = ''] = this.job.objects;
    const { status, stdout } = await this.kubectl.call(['get', job, '--ignore-not-found=true', '--output=name']);
    return status === 0 && stdout.trim() === '';
  }

  #tooLate(): boolean {
    return this.#cancelled !== null && Date.now() - this.#cancelled > this.timing.farewell * 1000;
  }

  // ---- the end

  /** The end of the job by the cluster, where the job did not report it itself. */
  #ending(): Ending | null {
    if (this.#cancelled !== null) {
      return this.#end ? null : { code: 'cancelled', message: 'The job was deleted before it wrote a verdict.' };
    }
    const failed = this.#pods.filter(({ phase, reason }) => phase === 'failed' && reason !== undefined);
    const said = failed.map(({ name, node, reason }) => `${name}${node === undefined ? '' : ` on ${node}`}: ${reason}`);
    if (this.#end && this.#end.verdict !== 'cancelled') {
      return null;
    }
    const code = this.#end ? 'stopped' : 'unknown';
    if (said.length > 0) {
      return { code, message: `The cluster ended the job. ${said.slice(0, 4).join('; ')}.` };
    }
    if (this.#end) {
      return { code, message: 'The cluster stopped the job and gives no reason.' };
    }
    return this.#first() ? null : { code, message: 'The first pod is gone, and its log with it.' };
  }

  #tell(phase: JobState['phase'], detail: string): void {
    this.output.state({ job: this.job.name, phase, detail });
  }

  /** Waits; false once the job has ended. */
  async #pause(seconds: number): Promise<boolean> {
    await sleep(seconds * 1000, undefined, { signal: this.#over.signal }).catch(() => undefined);
    return !this.#over.signal.aborted;
  }
}
