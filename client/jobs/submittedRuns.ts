import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunRequest, type SavedRun, savedRuns } from '../../jobs';

const REQUEST = 'request';

/** A job of an earlier session that still runs. */
export interface SubmittedRun {
  readonly id: string;
  readonly request: RunRequest;
  readonly saved: SavedRun;
  /** The folder with its request and what is needed to follow it. */
  readonly folder: string;
}

/** Runs whose jobs outlive this window: a folder for each, with what was asked for and what is needed to follow it again. */
export class SubmittedRuns {
  constructor(readonly root: string) {}

  /** The folder of a run; it is there until the run is forgotten. */
  async folderFor({ id, request }: Pick<SubmittedRun, 'id' | 'request'>): Promise<string> {
    const folder = join(this.root, id);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, REQUEST), JSON.stringify(request));
    return folder;
  }

  async forget(id: string): Promise<void> {
    await rm(join(this.root, id), { recursive: true, force: true });
  }

  /** The jobs of earlier sessions that still run; folders of others are removed. */
  async load(): Promise<SubmittedRun[]> {
    const found: SubmittedRun[] = [];
    for (const id of await readdir(this.root).catch(() => [])) {
      const folder = join(this.root, id);
      const [saved] = savedRuns(folder);
      const request = saved && (await readRequest(join(folder, REQUEST)));
      if (saved && request) {
        found.push({ id, request, saved, folder });
      } else {
        await this.forget(id);
      }
    }
    return found;
  }
}

async function readRequest(path: string): Promise<RunRequest | undefined> {
  try {
    const request: RunRequest = JSON.parse(await readFile(path, 'utf8'));
    return typeof request.uri === 'string' && typeof request.name === 'string' ? request : undefined;
  } catch {
    return undefined;
  }
}
