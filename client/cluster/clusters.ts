import type { CommBackend } from './plan';

/** This machine, through torchrun. */
export interface LocalCluster {
  readonly name: string;
  readonly kind: 'local';
  /** The Python interpreter with torch; left out: the first on PATH that has it. */
  readonly python?: string;
  readonly backend?: CommBackend;
}

/** Where a smoke job can run: the user's own setting, never part of a layout. */
export type Cluster = LocalCluster;

/** The cluster that is always there. */
export const LOCAL: LocalCluster = { name: 'local', kind: 'local' };

/** A list of clusters that cannot be used; the message says why. */
export class ClusterError extends Error {}

const BACKENDS: readonly string[] = ['auto', 'nccl', 'gloo'];
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/**
 * Reads the clusters of a settings list or a cluster file; `local` is always among them.
 * @throws ClusterError where an entry is not a cluster
 */
export function parseClusters(value: unknown): Cluster[] {
  if (!Array.isArray(value)) {
    throw new ClusterError('clusters must be a list of entries with name and kind');
  }
  const clusters = value.map(parseCluster);
  const names = clusters.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new ClusterError(`two clusters are called ${twice}`);
  }
  return names.includes(LOCAL.name) ? clusters : [LOCAL, ...clusters];
}

function parseCluster(value: unknown, place: number): Cluster {
  const at = `cluster ${place + 1}`;
  if (!isRecord(value)) {
    throw new ClusterError(`${at} is not a map of settings`);
  }
  const { name, kind, python, backend, ...rest } = value;
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new ClusterError(`${at} needs a name of letters, digits, dots and dashes`);
  }
  if (kind !== 'local') {
    throw new ClusterError(`cluster ${name} has the kind ${String(kind)}; known kinds: local`);
  }
  if (
    python !== undefined &&
    (typeof python !== 'string' || python === '' || /[\0\r\n]/.test(python) || python.startsWith('-'))
  ) {
    throw new ClusterError(`cluster ${name}: python must be the path of an interpreter`);
  }
  if (backend !== undefined && !isBackend(backend)) {
    throw new ClusterError(`cluster ${name}: backend must be one of ${BACKENDS.join(', ')}`);
  }
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new ClusterError(`cluster ${name} has no setting ${unknown}`);
  }
  return { name, kind, ...(python !== undefined && { python }), ...(backend !== undefined && { backend }) };
}

function isBackend(value: unknown): value is CommBackend {
  return typeof value === 'string' && BACKENDS.includes(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
