/** Who printed a line of a log, and what it says behind the prefixes of launchers. */
export interface LogLine {
  /** The global rank; null where no prefix tells it. */
  readonly rank: number | null;
  /** The rank among the processes of one machine, as torchrun prefixes it: `[default3]:`. */
  readonly localRank: number | null;
  /** The task of a launcher that labels lines: `srun --label`, `mpirun --tag-output`. */
  readonly task: number | null;
  /** The process and machine, as Ray, pdsh and kubectl prefix them. */
  readonly pid: number | null;
  readonly host: string | null;
  readonly text: string;
}

/** Longer lines are cut, in characters: what is looked for stands in the first few hundred. */
export const MAX_LINE = 4096;

/** The most prefixes before one line. */
const MAX_PREFIXES = 6;

/** Colours and other terminal sequences. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const TERMINAL = /\u001b\[[0-9;]{0,16}[A-Za-z]/g;

type Found = Partial<Omit<LogLine, 'text'>>;

/** A prefix and what it tells. Each expression is anchored, and reads a bounded number of characters. */
interface Prefix {
  readonly form: RegExp;
  found(groups: readonly (string | undefined)[]): Found;
}

const number = (digits: string | undefined): number | null => (digits === undefined ? null : Number(digits));

const PREFIXES: readonly Prefix[] = [
  // Ray: python/ray/_private/ray_logging `(name pid=..., ip=...)`
  {
    form: /^\((?:[\w.:<>[\]-]{1,80} )?pid=(\d{1,9})(?:, ip=([\w.:-]{1,64}))?\) ?/,
    found: ([pid, host]) => ({ pid: number(pid), ...(host === undefined ? {} : { host }) }),
  },
  // torchrun (torch/distributed/elastic/multiprocessing/tail_log.py) prefixes the role and the local rank;
  // torch itself (c10/util/Logging.cpp, torch/distributed/c10d_logger.py) the global rank
  { form: /^\[rank(\d{1,7})\]: ?/, found: ([rank]) => ({ rank: number(rank) }) },
  { form: /^\[[A-Za-z_]{1,32}(\d{1,7})\]: ?/, found: ([local]) => ({ localRank: number(local) }) },
  { form: /^ {0,7}(\d{1,7}): /, found: ([task]) => ({ task: number(task) }) },
  { form: /^\[\d{1,9},(\d{1,7})\]<std(?:out|err)>: ?/, found: ([task]) => ({ task: number(task) }) },
  { form: /^\[pod\/([\w.-]{1,128})\/[\w.-]{1,64}\] /, found: ([host]) => ({ host: host ?? null }) },
  { form: /^([A-Za-z][\w.-]{0,63}): ?(?=\[[a-z]{1,32}\d{1,7}\]:)/, found: ([host]) => ({ host: host ?? null }) },
  // NeMo-Run: role and replica
  { form: /^[\w.-]{1,64}\/\d{1,6} (?=\[)/, found: () => ({}) },
  { form: /^\d{4}-\d\d-\d\dT[\d:.]{8,24}(?:Z|[+-]\d\d:\d\d) /, found: () => ({}) },
];

/** Reads the prefixes of a line, from the outside in: the innermost rank counts. */
export function logLine(whole: string): LogLine {
  const cut = whole.length > MAX_LINE ? whole.slice(0, MAX_LINE) : whole;
  let text = cut.includes('\u001b') ? cut.replace(TERMINAL, '') : cut;
  let found: Found = {};
  for (let i = 0; i < MAX_PREFIXES; i++) {
    const prefix = PREFIXES.find(({ form }) => form.test(text));
    const groups = prefix?.form.exec(text);
    if (!prefix || !groups) {
      break;
    }
    found = { ...found, ...prefix.found(groups.slice(1)) };
    text = text.slice(groups[0].length);
  }
  return { rank: null, localRank: null, task: null, pid: null, host: null, ...found, text };
}
