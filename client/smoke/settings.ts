import * as vscode from 'vscode';
import { type Cluster, LOCAL, parseClusters } from '../cluster';

/**
 * The clusters of the settings, with the interpreter that the settings name for this machine.
 * @throws ClusterError where they cannot be used
 */
export function clustersOfSettings(): Cluster[] {
  const settings = vscode.workspace.getConfiguration('parallelismLayout');
  const python = settings.get('python', '');
  return parseClusters(settings.get('clusters', [])).map((cluster) =>
    cluster.kind === LOCAL.kind && python !== '' && !cluster.python ? { ...cluster, python } : cluster,
  );
}
