import type { Backend } from './backend';
import { entrySchema, type KindDescription } from './clusterFields';
import { kubernetesBackend } from './kubernetes/backend';
import { KUBERNETES_KIND, type KubernetesCluster } from './kubernetes/kubernetesFields';
import { LOCAL_KIND, type LocalCluster, localBackend } from './local/backend';
import { slurmBackend } from './slurm/backend';
import { SLURM_KIND, type SlurmCluster } from './slurm/slurmFields';

/** A place where a smoke job can run: a setting of the user, never part of a layout. */
export type Cluster = LocalCluster | SlurmCluster | KubernetesCluster;

/** The kinds of clusters, in the order of menus. */
export const CLUSTER_KINDS: readonly KindDescription[] = [LOCAL_KIND, SLURM_KIND, KUBERNETES_KIND];

/** The engine of each kind. */
const BACKENDS: { readonly [Kind in Cluster['kind']]: Backend<Extract<Cluster, { kind: Kind }>> } = {
  local: localBackend,
  slurm: slurmBackend,
  kubernetes: kubernetesBackend,
};

/** The engine that runs jobs on a cluster. */
export function backendOf<C extends Cluster>({ kind }: C): Backend<C> {
  return BACKENDS[kind] as unknown as Backend<C>;
}

/** The JSON schema of a list of clusters. */
export function clusterListSchema(): object {
  return { type: 'array', items: { oneOf: CLUSTER_KINDS.map(entrySchema) } };
}

/** The JSON schema of a cluster file: a map with the list `clusters`. */
export function clusterFileSchema(): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Clusters',
    description: 'The clusters that smoke jobs can run on.',
    type: 'object',
    required: ['clusters'],
    properties: { clusters: clusterListSchema() },
    additionalProperties: false,
  };
}
