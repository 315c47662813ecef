import { nearest } from '../layout';
import { flawOf, NAME_FIELD } from './clusterFields';
import { CLUSTER_KINDS, type Cluster } from './clusterKinds';
import type { LocalCluster } from './local/backend';

/** The cluster that always exists. */
export const LOCAL: LocalCluster = { name: 'local', kind: 'local' };

/** A list of clusters that cannot be used; the message says why. */
export class ClusterError extends Error {}

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
  if (!isMap(value)) {
    throw new ClusterError(`${at} is not a map of settings`);
  }
  const { name, kind: wanted, ...settings } = value;
  const flaw = flawOf(NAME_FIELD, name);
  if (flaw !== null) {
    throw new ClusterError(`${at}: name ${flaw}`);
  }
  const kind = CLUSTER_KINDS.find((one) => one.kind === wanted);
  if (!kind) {
    const known = CLUSTER_KINDS.map((one) => one.kind).join(', ');
    throw new ClusterError(`cluster ${name} has the kind ${String(wanted)}; known kinds: ${known}`);
  }
  const missing = kind.required.find((key) => settings[key] === undefined);
  if (missing !== undefined) {
    throw new ClusterError(`cluster ${name} needs the setting ${missing}`);
  }
  for (const [key, setting] of Object.entries(settings)) {
    const field = Object.hasOwn(kind.fields, key) ? kind.fields[key] : undefined;
    if (!field) {
      const near = nearest(key, Object.keys(kind.fields));
      throw new ClusterError(`cluster ${name} has no setting ${key}${near ? `; did you mean ${near}?` : ''}`);
    }
    const against = flawOf(field, setting);
    if (against !== null) {
      throw new ClusterError(`cluster ${name}: ${key} ${against}`);
    }
  }
  // every field has been validated against its description, from which the type is derived
  return value as unknown as Cluster;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
