/** A Python traceback in a job's log. */
export interface Traceback {
  /** The rank in the label of the lines; empty for none. */
  readonly rank: string;
  readonly lines: readonly string[];
}

/** The most tracebacks that are kept, and the most lines of each: many ranks may fail alike. */
const MAX_TRACEBACKS = 8;
const MAX_LINES = 200;

/** The labels of a rank's lines: `[rank 3] ` of the referee, `3: ` of srun. */
const LABELLED = /^(?:\[rank (\d+)\] |(\d+): )?(.*)$/s;

/** Shortens the tracebacks in a log to their last lines. */
export class TracebackFolder {
  readonly #open = new Map<string, string[]>();
  readonly #found: Traceback[] = [];

  /** The first tracebacks in full. */
  get found(): readonly Traceback[] {
    return this.#found;
  }

  /** The next line as shown; null inside a traceback. */
  fold(line: string): string | null {
    const [, ours, srun, text = ''] = LABELLED.exec(line) ?? [];
    const rank = ours ?? srun ?? '';
    const open = this.#open.get(rank);
    if (text === 'Traceback (most recent call last):') {
      this.#open.set(rank, [text]);
      return null;
    }
    if (!open) {
      return line;
    }
    if (open.length < MAX_LINES) {
      open.push(text);
    }
    if (text.startsWith('  ')) {
      return null;
    }
    this.#open.delete(rank);
    if (this.#found.length < MAX_TRACEBACKS) {
      this.#found.push({ rank, lines: open });
    }
    return `${line} (the report has the traceback)`;
  }
}

/** Lines of a log with the tracebacks shortened, and the tracebacks. */
export function foldTracebacks(lines: readonly string[]): {
  shown: readonly string[];
  tracebacks: readonly Traceback[];
} {
  const folder = new TracebackFolder();
  const shown = lines.map((line) => folder.fold(line)).filter((line) => line !== null);
  return { shown, tracebacks: folder.found };
}
