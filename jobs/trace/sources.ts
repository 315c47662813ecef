import { fstatSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Gunzip } from 'fflate';
import { countOf } from '../../layout';
import { fileErrorText, OpenSource, STANDARD_INPUT, UnsuitableFileError, withRegularFile } from '../regularFile';
import { type Entry, Interner, type RankEvidence, type RunGroup } from './evidence';
import { type FlightDump, flightDump } from './flightDump';
import { readJson } from './jsonText';
import { LogReader, type Machines, type RunLogs } from './logs/log';
import { looksLikePickle, readPickle, readPickleEnds } from './pickle';
import { looksLikeTrace, type RankProfile, TraceReader } from './profile/kinetoTrace';
import { looksLikeRas, type RasAnswer, readRas } from './ras';
import { looksLikeRecording, type Recording, readRecording } from './recorder';
import { latestRun, type ReadDump } from './runs';
import type { Salvaged } from './value';
import type { SourceFile } from './verification';

/** The largest dump that is read; 2,000 entries take 1 MB. Bytes. */
const MAX_DUMP = 64 * 1024 * 1024;
/** The part of a log that is read, in pieces. Bytes. */
const MAX_LOG = 1024 * 1024 * 1024;
/** Bytes that are unpacked at once: they may become a thousand times as many. */
const PACKED_PIECE = 16 * 1024;
/** The bytes by which the kind of a file is detected. */
const HEAD = 4096;
/** The approximate bytes of an entry without frames. */
const ENTRY_BYTES = 160;
/** The most entries of one batch. */
const MAX_BATCH = 4096;
/** The most files of a run, and the depth of its folders. */
const MAX_FILES = 200_000;
const MAX_DEPTH = 4;
/** The most entries of all ranks that are kept: 64 each for 16,384 ranks, which is more than any fault needs. */
const MAX_ENTRIES = 2 ** 20;

/** How standard input is written among paths. */
const STANDARD_INPUT_PATH = '-';

const NS_PER_MS = 1e6;

const NO_SOURCE = 'is no Flight Recorder dump, NCCL RAS answer, recorder file, profiler trace or torch log';
/** The part of a profiler trace that is read. Bytes, unpacked. */
const MAX_TRACE = 4 * 1024 * 1024 * 1024;

/** The evidence of all files of a run. */
export interface Evidence {
  readonly files: readonly SourceFile[];
  readonly ranks: readonly RankEvidence[];
  /** Sentences about dumps that are not of this run or layout. */
  readonly doubts: readonly string[];
  /** Whether there are dumps of ranks that the layout does not have. */
  readonly beyond: boolean;
  /** Every group that a dump or the recorder lists. */
  readonly groups: readonly RunGroup[];
  readonly ras: readonly RasAnswer[];
  readonly recordings: readonly Recording[];
  readonly logs: RunLogs;
  /** What torch.profiler wrote of ranks of the layout, each once. */
  readonly profiles: readonly RankProfile[];
  readonly interner: Interner;
}

/** A path that cannot be read. */
export class SourceError extends Error {}

/**
 * Reads the files of a run one after another and keeps only what is needed. Other files are listed and skipped.
 * @param paths files, folders (read four deep), patterns with `*` and `?` in the last part, and `-` for standard input
 * @param machines the layout's, which place ranks
 * @throws {SourceError} where a path does not exist
 */
export function readEvidence(paths: readonly string[], machines: Machines): Evidence {
  const files = paths.flatMap(expanded);
  if (files.length > MAX_FILES) {
    throw new SourceError(`${files.length} files are more than a run leaves; name the folder of one run`);
  }
  const reader = new EvidenceReader(files.length, machines);
  for (const file of files) {
    reader.read(file);
  }
  return reader.evidence();
}

/** The regular files of a path or pattern, in the order of their names. */
function expanded(path: string): string[] {
  if (path === STANDARD_INPUT_PATH) {
    return [path];
  }
  const name = basename(path);
  if (/[*?]/.test(name) && statSync(path, { throwIfNoEntry: false }) === undefined) {
    const folder = join(path, '..');
    const pattern = new RegExp(
      `^${name
        .replace(/[.+^${}()|[\]\\]/g, '\\$&')
        .replaceAll('*', '.*')
        .replaceAll('?', '.')}$`,
    );
    const matching = namesIn(folder).filter((one) => pattern.test(one));
    if (matching.length === 0) {
      throw new SourceError(`${path}: no file matches`);
    }
    return matching.flatMap((one) => filesUnder(join(folder, one), 0));
  }
  try {
    return statSync(path).isDirectory() ? filesUnder(path, 0) : [path];
  } catch (error) {
    throw new SourceError(`${path}: ${fileErrorText(error)}`);
  }
}

/** The regular files of a folder; what cannot be searched is among them, so that reading it says why, and the others count. */
function filesUnder(path: string, depth: number): string[] {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory() && depth <= MAX_DEPTH) {
      return namesIn(path).flatMap((name) => filesUnder(join(path, name), depth + 1));
    }
    return stat?.isFile() ? [path] : [];
  } catch {
    return [path];
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  } catch (error) {
    throw new SourceError(`${folder}: ${fileErrorText(error)}`);
  }
}

/** Reads the files of a run one by one. */
export class EvidenceReader {
  readonly #files: SourceFile[] = [];
  readonly #dumps: ReadDump[] = [];
  /** Ranks with a dump that cannot be read. */
  readonly #unread = new Set<number>();
  /** The groups that recorder files list. */
  readonly #groups = new Set<RunGroup>();
  readonly #ras: RasAnswer[] = [];
  readonly #recordings: Recording[] = [];
  readonly #profiles = new Map<number, RankProfile>();
  readonly #log: LogReader;
  readonly #interner = new Interner();

  /** The number of entries of each ring that are kept. */
  readonly keep: number;

  /** @param files the number of files */
  constructor(
    files: number,
    readonly machines: Machines,
  ) {
    this.#log = new LogReader(machines);
    this.keep = Math.max(64, Math.floor(MAX_ENTRIES / Math.max(1, files)));
  }

  evidence(): Evidence {
    const { ranks, groups, notes, doubts, beyond } = latestRun(this.#dumps, this.machines.worldSize);
    const read = new Set(ranks.map(({ rank }) => rank));
    const unread = [...this.#unread]
      .filter((rank) => !read.has(rank))
      .map((rank) => ({ rank, entries: [], enqueued: new Map(), source: 'part' as const, written: null }));
    return {
      files: this.#files.map((file, index) => {
        const note = notes.get(index);
        return note === undefined ? file : { ...file, ok: file.ok && note.startsWith('another'), note };
      }),
      ranks: [...ranks, ...unread],
      doubts,
      beyond,
      groups: [...new Set([...groups, ...this.#groups])],
      ras: this.#ras,
      recordings: this.#recordings,
      logs: this.#log.logs(),
      profiles: [...this.#profiles.values()],
      interner: this.#interner,
    };
  }

  read(file: string): void {
    try {
      this.#readKind(file);
    } catch (error) {
      const isOfFile = error instanceof Error && ('code' in error || error instanceof UnsuitableFileError);
      const reason = isOfFile ? fileErrorText(error) : `this program fails on it: ${error}`.slice(0, MAX_QUOTED);
      this.#note(file, 'other', null, false, reason);
    }
  }

  #readKind(file: string): void {
    if (file === STANDARD_INPUT_PATH) {
      this.#opened(file, new OpenSource(STANDARD_INPUT), null);
    } else {
      withRegularFile(file, (opened) => this.#opened(file, new OpenSource(opened), fstatSync(opened).mtimeMs));
    }
  }

  #opened(file: string, source: OpenSource, modified: number | null): void {
    const head = source.head(HEAD);
    if (head.length === 0 && rankInName(file) !== null) {
      this.#unreadable(file, 'is empty');
      return;
    }
    if (looksLikePickle(head)) {
      this.#dump(file, source, modified, (bytes) => readPickle(bytes));
      return;
    }
    // gzip
    if (head[0] === 0x1f && head[1] === 0x8b) {
      this.#packed(file, source);
      return;
    }
    const start = new TextDecoder().decode(head).replace(/^\uFEFF/, '');
    if (looksLikeTrace(start)) {
      const reader = new TraceReader(this.#interner);
      const whole = source.forEachPiece(MAX_TRACE, (piece) => reader.push(piece));
      this.#profile(file, reader, whole);
    } else if (looksLikeRecording(start) || looksLikeRas(start)) {
      this.#text(file, source, start);
    } else if (start.startsWith('{') && /"(?:pg_config|entries|comm_lib_version|version)"/.test(start)) {
      this.#dump(file, source, modified, (bytes) => readJson(new TextDecoder().decode(bytes)));
    } else {
      this.#logFile(file, source, start);
    }
  }

  #note(file: string, kind: SourceFile['kind'], rank: number | null, ok: boolean, note = ''): void {
    this.#files.push({ file, kind, rank, ok, note });
  }

  #dump(file: string, source: OpenSource, modified: number | null, parse: (bytes: Uint8Array) => Salvaged): void {
    const bytes = source.bytes(MAX_DUMP);
    if (bytes === null) {
      this.#note(file, 'flight-recorder', rankInName(file), false, `is larger than ${MAX_DUMP / 2 ** 20} MiB`);
      return;
    }
    this.dump(file, bytes, parse, modified);
  }

  /**
   * Reads the bytes of a dump.
   * @param modified when its file was written, in milliseconds since 1970; null for unknown
   */
  dump(
    file: string,
    bytes: Uint8Array,
    parse: (bytes: Uint8Array) => Salvaged = readPickle,
    modified: number | null = null,
  ): void {
    let dump = this.#lastOf(bytes);
    if (!dump) {
      const salvaged = parse(bytes);
      dump = flightDump(salvaged, this.#interner, this.keep);
      if (!dump && salvaged.problem !== null) {
        this.#unreadable(file, salvaged.problem);
        return;
      }
    }
    if (!dump) {
      this.#note(file, 'other', rankInName(file), false, 'is no Flight Recorder dump');
      return;
    }
    const named = rankInName(file);
    const rank = rankOf(named, dump);
    if (rank === null) {
      const why =
        named === null
          ? 'has no rank: name it ..._RANK, as torch does'
          : `is not of rank ${named}, which its name says: that rank is in none of its groups, or not in all`;
      this.#note(file, 'flight-recorder', null, false, why);
      return;
    }
    const { groups, oldest, newest } = dump;
    const evidence = rankEvidence(rank, dump, modified);
    this.#dumps.push({ index: this.#files.length, evidence, groups, oldest, newest });
    const renamed =
      named !== null && named !== rank ? `holds operations of rank ${rank}, though its name says ${named}` : '';
    this.#note(file, 'flight-recorder', rank, dump.problem === null, dump.problem ?? renamed);
  }

  /** Notes a dump that cannot be read; its rank was alive to write it. */
  #unreadable(file: string, note: string): void {
    const rank = rankInName(file);
    this.#note(file, 'flight-recorder', rank, false, note);
    if (rank !== null && rank < this.machines.worldSize) {
      this.#unread.add(rank);
    }
  }

  /** Reads only the ends of a pickle with many more entries than are kept; null where that is not possible. */
  #lastOf(bytes: Uint8Array): FlightDump | null {
    const tail = this.keep * ENTRY_BYTES;
    const salvaged = bytes.length > 4 * tail && looksLikePickle(bytes) ? readPickleEnds(bytes, tail) : null;
    const dump = salvaged && flightDump(salvaged, this.#interner, this.keep);
    const first = dump?.entries[0]?.record ?? 0;
    // every last entry must be there: a torch version may define values in the skipped part
    const whole = dump?.entries.every(
      ({ record }, i) => i === 0 || record - (dump.entries[i - 1]?.record ?? 0) <= MAX_BATCH,
    );
    return dump && whole && (dump.entries.at(-1)?.record ?? -1) - first >= this.keep / 2 ? dump : null;
  }

  #text(file: string, source: OpenSource, start: string): void {
    const bytes = source.bytes(MAX_DUMP);
    if (bytes === null) {
      this.#note(file, 'other', null, false, `is larger than ${MAX_DUMP / 2 ** 20} MiB`);
      return;
    }
    const text = new TextDecoder().decode(bytes).replace(/^\uFEFF/, '');
    if (looksLikeRas(start)) {
      const answer = readRas(text);
      this.#ras.push(answer);
      this.#note(file, 'ras', null, answer.problem === null, answer.problem ?? '');
      return;
    }
    const recording = readRecording(text);
    if (!recording) {
      this.#note(file, 'recorder', null, false, 'has no rank');
      return;
    }
    this.#recordings.push(recording);
    for (const { name, desc, ranks } of recording.groups) {
      this.#groups.add(this.#interner.group(name, desc, ranks));
    }
    this.#note(file, 'recorder', recording.rank, recording.problem === null, recording.problem ?? '');
  }

  /** Reads a packed trace: unpacked, it is ten to twenty times as large, and is never held whole. */
  #packed(file: string, source: OpenSource): void {
    const reader = new TraceReader(this.#interner);
    let size = 0;
    let isTrace = true;
    const unpack = new Gunzip((piece) => {
      isTrace = size > 0 ? isTrace : looksLikeTrace(new TextDecoder().decode(piece.subarray(0, HEAD)));
      size += piece.length;
      if (isTrace && size <= MAX_TRACE) {
        reader.push(piece);
      }
    });
    try {
      source.forEachPiece(MAX_TRACE, (piece) => {
        for (let at = 0; at < piece.length && isTrace && size <= MAX_TRACE; at += PACKED_PIECE) {
          unpack.push(piece.subarray(at, at + PACKED_PIECE));
        }
      });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && typeof error.code === 'number')) {
        throw error;
      }
      isTrace &&= size > 0;
    }
    if (isTrace) {
      this.#profile(file, reader, size <= MAX_TRACE);
    } else {
      this.#note(file, 'other', null, false, 'is packed, and no profiler trace: unpack it first');
    }
  }

  #profile(file: string, reader: TraceReader, whole: boolean): void {
    const profile = reader.profile(rankInName(file));
    if (typeof profile === 'string') {
      this.#note(file, 'other', null, false, profile);
      return;
    }
    const { rank, worldSize, problem } = profile;
    const other =
      worldSize !== null && worldSize !== this.machines.worldSize
        ? `is of a run of ${countOf(worldSize, 'rank')}; the layout has ${this.machines.worldSize}`
        : rank >= this.machines.worldSize
          ? `is of rank ${rank}; the layout has ${countOf(this.machines.worldSize, 'rank')}`
          : this.#profiles.has(rank)
            ? `is another trace of rank ${rank}, and was left out`
            : null;
    if (other === null) {
      this.#profiles.set(rank, profile);
      for (const group of profile.groups) {
        this.#groups.add(group);
      }
    }
    const note = other ?? problem ?? (whole ? '' : `only the first ${MAX_TRACE / 2 ** 30} GiB were read`);
    this.#note(file, 'profile', rank, note === '', note);
  }

  #logFile(file: string, source: OpenSource, start: string): void {
    if (start.includes('\0')) {
      this.#note(file, 'other', null, false, NO_SOURCE);
      return;
    }
    let telling = false;
    const nearest = new NearestLine();
    const whole = source.forEachLine(MAX_LOG, (line) => {
      telling = this.#log.line(line) || telling;
      if (!telling) {
        nearest.line(line);
      }
    });
    const note = telling ? (whole ? '' : `only the first ${MAX_LOG / 2 ** 30} GiB were read`) : nearest.text;
    this.#note(file, telling ? 'log' : 'other', null, telling && whole, note);
  }
}

/** The line of a text that comes nearest to one that is understood. */
class NearestLine {
  #number = 0;
  #best = { score: 0, number: 0, text: '' };

  line(text: string): void {
    this.#number++;
    const score = TERMS.filter((term) => term.test(text.slice(0, MAX_SCORED))).length;
    if (score > this.#best.score) {
      this.#best = { score, number: this.#number, text: Buffer.from(text.slice(0, MAX_QUOTED)).toString() };
    }
  }

  /** Why the file is no source. */
  get text(): string {
    const { score, number, text } = this.#best;
    return score === 0
      ? NO_SOURCE
      : `is not understood as a log: no line of a watchdog, exception, launcher or training step; line ${number} comes nearest: ${JSON.stringify(text.trim())}`;
  }
}

/** What lines about a hang, an end or a training step speak of. */
const TERMS: readonly RegExp[] = [
  /nccl|rccl|hccl/i,
  /watchdog|time(?:d )?-?out|hang|hung|stuck/i,
  /\brank\b/i,
  /collective|all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|process ?group/i,
  /error|exception|traceback|abort|fatal/i,
  /\b(?:killed|signal|sig[a-z]{3,4}|oom|out of memory|exit ?code)\b/i,
  /\b(?:iteration|step|elapsed|tokens?|tflops?|throughput)\b/i,
];
/** The most characters of a line that are looked at, and quoted. */
const MAX_SCORED = 1000;
const MAX_QUOTED = 160;

function rankEvidence(rank: number, { entries, enqueued, problem }: FlightDump, modified: number | null): RankEvidence {
  const written = modified === null ? null : modified * NS_PER_MS;
  const newest = entries.reduce((most, { created }) => Math.max(most, created), 0);
  return {
    rank,
    entries,
    enqueued,
    source: problem === null ? 'dump' : 'part',
    // a file that is older than its entries has another clock
    written: written === null || written < newest ? null : written,
  };
}

/** The number at the end of a dump's or trace's name: `nccl_trace_rank_12`, `dump_12.json`, `rank12.json.gz`. */
function rankInName(file: string): number | null {
  const digits = /(\d{1,7})(?:\.(?:json|pkl|pickle|bin|(?:pt\.trace\.)?json(?:\.gz)?))?$/.exec(basename(file))?.[1];
  return digits === undefined ? null : Number(digits);
}

/**
 * The rank of a dump. Its content decides: the end of its transfers that is its own, or the ranks that all its groups have in
 * common. The number in its name counts where these leave it open; null where the name contradicts them.
 */
function rankOf(named: number | null, { groups, entries, own }: FlightDump): number | null {
  const [only] = own;
  if (own.size === 1 && only !== undefined) {
    return only;
  }
  const used = commonRanks(new Set(entries.map(({ group }: Entry) => group)));
  const listed = commonRanks(groups);
  const both = used && listed ? used.filter((rank) => listed.includes(rank)) : (used ?? listed);
  const common = both && both.length > 0 ? both : used;
  if (!common) {
    return named;
  }
  return named !== null && common.includes(named) ? named : common.length === 1 ? (common[0] ?? null) : null;
}

/** The ranks that all groups have in common; null where no group has known ranks. */
function commonRanks(groups: Iterable<RunGroup>): readonly number[] | null {
  const [first, ...others] = new Set([...groups].map(({ ranks }) => ranks).filter(({ length }) => length > 0));
  return others.reduce((common, ranks) => {
    const members = new Set(ranks);
    return common?.filter((rank) => members.has(rank)) ?? null;
  }, first ?? null);
}
