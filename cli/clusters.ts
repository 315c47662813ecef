import { readdirSync } from 'node:fs';
import { type Cluster, ClusterError, LOCAL, readClusterFile } from '../jobs';
import { fail } from './output';

/**
 * The cluster that `--cluster` names: of the file of `--clusters`, or else this machine. Null, with the reason on standard error,
 * where there is none.
 */
export function clusterNamed(wanted: string, file: string | undefined): Cluster | null {
  try {
    const known = file === undefined ? [LOCAL] : readClusterFile(file);
    const names = known.map(({ name }) => name).join(', ');
    const others = file === undefined ? 'name its file with --clusters' : `known: ${names}`;
    return known.find(({ name }) => name === wanted) ?? fail(`there is no cluster ${wanted}; ${others}`);
  } catch (error) {
    if (!(error instanceof ClusterError)) {
      throw error;
    }
    return fail(error.message);
  }
}

/** The names of the clusters in the files of the current folder that mean nothing to a shell; a file that cannot be read has none. */
export function* clusterNames(): Iterable<string> {
  yield `${LOCAL.name}\n`;
  for (const file of readdirSync('.').filter((name) => /\.clusters\.ya?ml$/.test(name))) {
    try {
      const names = readClusterFile(file).map(({ name }) => name);
      yield* names.filter((name) => /^[\w.-]+$/.test(name)).map((name) => `${name}\n`);
    } catch {
      // `smoke` says what is wrong with it
    }
  }
}
