// The project's TypeScript for scripts that need it without a build.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import esbuild from 'esbuild';

/** Modules by their entry: each is bundled once. */
const imported = new Map<string, Promise<unknown>>();

/**
 * What a source file of the project exports.
 * @param entry the file, from the project's folder
 */
export function importSource<T>(entry: string): Promise<T> {
  const module = imported.get(entry) ?? bundled(entry);
  imported.set(entry, module);
  return module as Promise<T>;
}

async function bundled(entry: string): Promise<unknown> {
  const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-source-'));
  const outfile = join(work, 'bundle.mjs');
  try {
    await esbuild.build({
      entryPoints: [entry],
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      external: ['node:*'],
      outfile,
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(work, { recursive: true });
  }
}
