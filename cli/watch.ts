import { type FSWatcher, watch } from 'node:fs';
import { fileErrorText } from '../jobs';
import { layoutFolders } from './layoutFiles';
import { complain, EXIT } from './output';

/** The time without changes before the next check: an editor writes a file in several steps. Milliseconds. */
const QUIET_MS = 60;

/** The files that the output of `check` depends on. */
const WATCHED = /\.layout\.ya?ml$|^\.parallelism-layout\.yaml$|^\.gitignore$/;

/**
 * Checks once, and again whenever a layout or its configuration changes, until SIGINT or SIGTERM ends it with exit status 0.
 * @param paths layout files, and folders of them
 */
export async function watchLayouts(paths: readonly string[], check: () => Promise<void>): Promise<void> {
  const folders = new WatchedFolders();
  const ended = new Promise<void>((end) => {
    process.once('SIGINT', end).once('SIGTERM', end);
  });
  let isEnded = false;
  ended.then(() => {
    isEnded = true;
  });
  while (!isEnded) {
    // before the check, so that a change during it counts
    folders.watch(layoutFolders(paths));
    await check();
    complain('watching for changes; Ctrl-C ends');
    await Promise.race([folders.changed(), ended]);
  }
  folders.close();
  process.exitCode = EXIT.clean;
}

/** Watches folders for changes of layouts. */
class WatchedFolders {
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;
  #isChanged = false;
  #tell = (): void => {};

  /** Watches these folders and no others. */
  watch(folders: Iterable<string>): void {
    const wanted = new Set(folders);
    for (const folder of [...this.#watchers.keys()].filter((one) => !wanted.has(one))) {
      this.#forget(folder);
    }
    for (const folder of wanted) {
      this.#add(folder);
    }
  }

  /** Resolves when files have changed since the last call, and then have not changed for QUIET_MS. */
  async changed(): Promise<void> {
    if (!this.#isChanged) {
      await new Promise<void>((tell) => {
        this.#tell = tell;
      });
    }
    this.#isChanged = false;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const folder of [...this.#watchers.keys()]) {
      this.#forget(folder);
    }
  }

  #add(folder: string): void {
    if (this.#watchers.has(folder)) {
      return;
    }
    try {
      const watcher = watch(folder, (_, name) => this.#note(name));
      watcher.on('error', () => this.#forget(folder));
      this.#watchers.set(folder, watcher);
    } catch (error) {
      complain(`${folder}: is not watched: ${fileErrorText(error)}`);
    }
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  /** @param name the changed file or folder (most folders have no dot); null for unknown */
  #note(name: string | null): void {
    if (name === null || WATCHED.test(name) || !name.includes('.')) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        this.#isChanged = true;
        this.#tell();
      }, QUIET_MS);
    }
  }
}
