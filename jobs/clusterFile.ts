import { parse, YAMLParseError } from 'yaml';
import { ClusterError, parseClusters } from './clusters';
import type { Cluster } from './kinds';
import { readRegularFile, UnsuitableFileError } from './regularFile';

/** The largest cluster file that is read, in bytes. */
const MAX_BYTES = 256 * 1024;

/**
 * Reads a cluster file: YAML with a list `clusters`.
 * @throws ClusterError where the file cannot be read or used
 */
export function readClusterFile(path: string): Cluster[] {
  try {
    const data: unknown = parse(readRegularFile(path, MAX_BYTES).toString('utf8'), {
      maxAliasCount: 100,
      logLevel: 'error',
    });
    return parseClusters(typeof data === 'object' && data !== null && 'clusters' in data ? data.clusters : data);
  } catch (error) {
    if (
      error instanceof ClusterError ||
      error instanceof YAMLParseError ||
      error instanceof UnsuitableFileError ||
      isSystemError(error)
    ) {
      throw new ClusterError(`${path}: ${error.message}`);
    }
    throw error;
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error;
}
