import { parse, YAMLParseError } from 'yaml';
import type { Cluster } from './clusterKinds';
import { ClusterError, parseClusters } from './clusters';
import { fileErrorText, readRegularFile, UnsuitableFileError } from './regularFile';

/** The largest cluster file that is read, in bytes. */
const MAX_BYTES = 256 * 1024;

/**
 * Reads a cluster file: YAML with a list `clusters`.
 * @throws ClusterError where the file cannot be read or used
 */
export function readClusterFile(path: string): Cluster[] {
  try {
    const text = readRegularFile(path, MAX_BYTES).toString('utf8');
    if (text.includes('\0')) {
      throw new ClusterError('is not a text file');
    }
    const data: unknown = parse(text, { maxAliasCount: 100, logLevel: 'error' });
    return parseClusters(typeof data === 'object' && data !== null && 'clusters' in data ? data.clusters : data);
  } catch (error) {
    // aliases of aliases are a ReferenceError, and nesting beyond the call stack is a RangeError
    const kinds = [ClusterError, YAMLParseError, UnsuitableFileError, ReferenceError, RangeError];
    const isKnown = kinds.some((kind) => error instanceof kind);
    if (isKnown || (error instanceof Error && 'code' in error)) {
      throw new ClusterError(`${path}: ${fileErrorText(error)}`);
    }
    throw error;
  }
}
