import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RECORD_VERSION, type RunDetail, type RunRecord } from './runRecord';

/** The most runs that are kept; the oldest are removed first. */
const MAX_RUNS = 100;

const RECORD = '.run.json';
const DETAIL = '.detail.json';

/**
 * The smoke jobs that have ended, in a folder: a small file for each run, which `load` reads, and a larger one with its details,
 * which `detail` reads. Files that cannot be read or are of another version are skipped.
 */
export class RunHistory {
  #runs: RunRecord[] = [];

  constructor(readonly folder: string) {}

  /** The newest first. */
  get runs(): readonly RunRecord[] {
    return this.#runs;
  }

  /** Reads what earlier sessions left. */
  async load(): Promise<void> {
    // the first run makes the folder
    const files = await readdir(this.folder).catch(() => []);
    const names = files.filter((name) => name.endsWith(RECORD));
    const read = await Promise.all(names.map((name) => readJson(join(this.folder, name))));
    const known = new Set(this.#runs.map(({ id }) => id));
    this.#runs = [...this.#runs, ...read.filter(isRecord).filter(({ id }) => !known.has(id))].sort((a, b) =>
      b.started.localeCompare(a.started),
    );
  }

  /** Saves a run, and removes the oldest where there are too many. */
  async add(record: RunRecord, detail: RunDetail): Promise<void> {
    this.#runs = [record, ...this.#runs];
    await mkdir(this.folder, { recursive: true });
    await writeWhole(join(this.folder, record.id + DETAIL), detail);
    await writeWhole(join(this.folder, record.id + RECORD), record);
    await this.remove(this.#runs.slice(MAX_RUNS).map(({ id }) => id));
  }

  /** The groups and the log of a run; null where its file is gone. */
  async detail({ id }: RunRecord): Promise<RunDetail | null> {
    const detail = await readJson(join(this.folder, id + DETAIL));
    return isVersioned(detail) && 'groups' in detail && 'log' in detail ? (detail as RunDetail) : null;
  }

  async remove(ids: readonly string[]): Promise<void> {
    this.#runs = this.#runs.filter(({ id }) => !ids.includes(id));
    await Promise.all(
      ids.flatMap((id) => [RECORD, DETAIL].map((kind) => rm(join(this.folder, id + kind), { force: true }))),
    );
  }

  async clear(): Promise<void> {
    this.#runs = [];
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Writes a file under another name and renames it, so that no reader sees half of it. */
async function writeWhole(path: string, value: unknown): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(value));
  await rename(`${path}.new`, path);
}

function isVersioned(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'version' in value && value.version === RECORD_VERSION;
}

/** This class wrote the files of this version, so that checking the fields that every reader uses is enough. */
function isRecord(value: unknown): value is RunRecord {
  const record: Partial<RunRecord> = isVersioned(value) ? value : {};
  const texts = [record.id, record.uri, record.name, record.cluster, record.started, record.verdict];
  return texts.every((text) => typeof text === 'string') && Array.isArray(record.kinds);
}
