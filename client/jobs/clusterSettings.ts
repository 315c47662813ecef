import * as vscode from 'vscode';
import { type Cluster, LOCAL, parseClusters } from '../../jobs';

/** The setting that describes clusters. */
export const CLUSTERS = 'parallelismLayout.clusters';

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

/** Shows settings by their name. In a remote window those that say what runs are kept on the machine at the other end. */
export async function openSettings(query: string): Promise<void> {
  const settings = vscode.env.remoteName === undefined ? 'openSettings' : 'openRemoteSettings';
  await vscode.commands.executeCommand(`workbench.action.${settings}`, { query });
}
