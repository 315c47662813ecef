import * as vscode from 'vscode';
import { withProgress } from './notifications';

/** Tasks with a progress notification. Cancelling it, or disposing of this object, aborts their signals. */
export class CancellableTasks implements vscode.Disposable {
  readonly #running = new Set<AbortController>();

  /** @returns undefined where the task was cancelled */
  async run<R>(title: string, task: (signal: AbortSignal) => Promise<R>): Promise<R | undefined> {
    const running = new AbortController();
    this.#running.add(running);
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    try {
      return await withProgress(options, (_, token) => {
        token.onCancellationRequested(() => running.abort());
        return task(running.signal);
      });
    } catch (error) {
      if (running.signal.aborted) {
        return undefined;
      }
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  dispose(): void {
    for (const running of this.#running) {
      running.abort();
    }
  }
}
