import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The texts of the Python job by the names of its files. */
export async function jobFiles(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.py')).sort();
  const files = names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(files));
}
