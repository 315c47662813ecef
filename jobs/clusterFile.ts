import { LineIndex, type Node, parseTree } from '../layout';
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
    const { root, problem } = parseTree(text);
    if (problem) {
      const { line } = new LineIndex(text).positionAt(problem.span.start);
      throw new ClusterError(`line ${line + 1}: ${problem.message}`);
    }
    const clusters = root?.kind === 'map' ? root.entries.find(({ key }) => key === 'clusters')?.value : undefined;
    return parseClusters(dataOf(clusters ?? root));
  } catch (error) {
    const isKnown = error instanceof ClusterError || error instanceof UnsuitableFileError;
    if (isKnown || (error instanceof Error && 'code' in error)) {
      throw new ClusterError(`${path}: ${fileErrorText(error)}`);
    }
    throw error;
  }
}

/** The plain data of a tree. */
function dataOf(node: Node | null): unknown {
  if (node?.kind === 'list') {
    return node.items.map(dataOf);
  }
  if (node?.kind !== 'map') {
    return node?.value ?? null;
  }
  const data = new Map<string, unknown>();
  for (const { key, value } of node.entries) {
    if (data.has(key)) {
      throw new ClusterError(`a map has the key ${key} twice`);
    }
    data.set(key, dataOf(value));
  }
  return Object.fromEntries(data);
}
