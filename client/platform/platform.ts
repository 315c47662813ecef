import type * as vscode from 'vscode';
import type { ObservedRun } from '../../jobs';
import type { GridPanels } from '../grid/panel';
import type { CreateClient } from '../languageClient';
import type { ServerDiagnostics } from '../serverDiagnostics';

/** What the jobs of a platform are given. */
export interface JobHost {
  readonly context: vscode.ExtensionContext;
  readonly panels: GridPanels;
  readonly said: ServerDiagnostics;
  readonly output: vscode.LogOutputChannel;
}

/** Runs a shell script with recording stubs, as `observeScript` of the jobs says; null where `signal` ended it. */
export type ObserveScript = (file: string, limit: number, signal: AbortSignal) => Promise<ObservedRun | null>;

/** What differs between the editor on a machine and the editor in a browser. */
export interface Platform {
  /**
   * Loads what makes clients of the language server.
   * @param dist the folder of the bundles
   */
  clients(dist: vscode.Uri): Promise<CreateClient>;

  /** Registers what starts processes; undefined where nothing can be started. */
  readonly registerJobs?: (host: JobHost) => vscode.Disposable;

  /** Runs a launch script with recording stubs; undefined where nothing can be started. */
  readonly observeScript?: ObserveScript;
}

/** Identifier and name of the client, which also name its settings and its trace. */
export const CLIENT = { id: 'parallelismLayout', name: 'Parallelism Layout' } as const;
