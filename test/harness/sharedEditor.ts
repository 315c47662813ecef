import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEditorServer } from './editorServer';
import { installExtension } from './workbench';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The editor's server that all workbenches of a run share, with the packaged extension. */
    readonly editor: SharedEditor;
  }
}

export interface SharedEditor {
  readonly port: number;
  readonly data: string;
  /** Where the server's environment says that the configurations of clusters are: each test writes its own there. */
  readonly clusterFiles: string;
}

const names = { SLURM_CONF: 'slurm.conf', KUBECONFIG: 'kubeconfig' } as const;

/** Puts the configuration of a test's cluster where extensions of the shared server find it. */
export function useCluster({ clusterFiles }: SharedEditor, variable: keyof typeof names, file: string): void {
  copyFileSync(file, join(clusterFiles, names[variable]));
}

/** Called by Vitest before the files of the project: starts the server; what is returned ends it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-shared-'));
  const env = Object.fromEntries(Object.entries(names).map(([variable, name]) => [variable, join(work, name)]));
  const { port, data, stop } = await startEditorServer({
    extensionsDir: installExtension('parallelism-layout.vsix', work),
    env,
  });
  project.provide('editor', { port, data, clusterFiles: work });
  return async () => {
    await stop();
    rmSync(work, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
}
