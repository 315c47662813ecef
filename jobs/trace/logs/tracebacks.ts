/** The end of a Python traceback. */
export interface RaisedException {
  /** `ValueError: text`. */
  readonly text: string;
  /** Whether the end of another rank, or somebody who stops the run, causes it. */
  readonly caused: boolean;
  /** Whether a person or a scheduler has interrupted the program. */
  readonly interrupt: boolean;
}

const START = /^\s{0,4}Traceback \(most recent call last\):\s*$/;
/** Lines inside a traceback: frames, their code, markers, notes of nested groups, and the words between chained ones. */
const INSIDE =
  /^\s+\S|^\s*$|^During handling of the above exception|^The above exception was the direct cause|^\s*[|+]/;
const LAST =
  /^([A-Za-z_][\w.]{0,120}?(?:Error|Exception|Interrupt|Exit|Failure|Fault|OutOfMemory\w{0,20}|StopIteration|Warning))(?:: ?(.*))?$/;

/** Exceptions that the end of another rank causes. */
const CAUSED =
  /DistBackendError|DistNetworkError|DistStoreError|ChildFailedError|ActorDiedError|WorkerCrashedError|SystemExit|Connection (?:reset|closed)|Connection refused|ConnectionResetError|BrokenPipeError|Broken pipe|Watchdog|Gloo connect|NCCL (?:communicator was aborted|timeout)|ncclRemoteError|remote process exited|Socket Timeout|wait timeout/;
/** What a person or a scheduler does to a program. */
const INTERRUPT = /^KeyboardInterrupt|SignalException|RendezvousClosedError|received signal|got signal/;

/** An exception that a Ray driver reports of one of its workers: `ray.exceptions.RayTaskError(ValueError): ray::...`. */
export interface RayException {
  readonly pid: number;
  readonly host: string | null;
  readonly raised: RaisedException;
}

const RAY = /RayTaskError\((\w{1,80})\): ?ray::.{0,300}?\(pid=(\d{1,9})(?:, ip=([\w.:-]{1,64}))?/;

/** Reads the report of a Ray driver about a worker; null for another line. */
export function rayException(text: string): RayException | null {
  const [, type, pid, host] = text.includes('RayTaskError') ? (RAY.exec(text) ?? []) : [];
  return type === undefined ? null : { pid: Number(pid), host: host ?? null, raised: raisedException(type, '') };
}

function raisedException(type: string, message: string): RaisedException {
  const text = message === '' ? type : `${type}: ${message}`;
  const interrupt = INTERRUPT.test(text);
  return { text, interrupt, caused: interrupt || CAUSED.test(text) };
}

/** Follows the tracebacks of one process, line by line: only lines in the form and order of Python's own count. */
export class TracebackReader {
  #open = false;
  /** Whether an exception before the present one, in the same chain, was caused from outside. */
  #chainCaused = false;
  #chained = false;

  /** Reads a line; the exception where the line ends a traceback. */
  line(text: string): RaisedException | null {
    if (START.test(text)) {
      this.#chainCaused = this.#chained && this.#chainCaused;
      this.#open = true;
      return null;
    }
    if (!this.#open) {
      this.#chained &&= INSIDE.test(text);
      return null;
    }
    const [, type, message = ''] = LAST.exec(text) ?? [];
    if (type !== undefined) {
      this.#open = false;
      this.#chained = true;
      const raised = raisedException(type, message.slice(0, 300));
      this.#chainCaused ||= raised.caused;
      return { ...raised, caused: this.#chainCaused };
    }
    this.#open = INSIDE.test(text);
    return null;
  }

  /** Whether the next line may belong to a traceback. */
  get open(): boolean {
    return this.#open;
  }
}
