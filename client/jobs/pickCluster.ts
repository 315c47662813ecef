import * as vscode from 'vscode';
import { CLUSTER_KINDS, type Cluster, ClusterError, LOCAL, type Question } from '../../jobs';
import { workbenchText } from '../../layout';
import { ask, showError } from '../notifications';
import { CLUSTERS, clustersOfSettings, openSettings } from './clusterSettings';

const LAST = 'smoke.lastCluster';
const AGREED = 'smoke.agreed';

/** The chosen cluster and the questions that were answered for good; both are remembered for the workspace. */
export class Choices {
  constructor(readonly memory: vscode.Memento) {}

  /**
   * The cluster to run on: the one that is named, the only one there is, or the one that a person picks.
   * @returns undefined where there is none, or the person picked none
   */
  async cluster(wanted: string | undefined): Promise<Cluster | undefined> {
    const clusters = await knownClusters();
    const [only] = clusters ?? [];
    if (!clusters || !only) {
      return undefined;
    }
    if (wanted !== undefined) {
      const named = clusters.find(({ name }) => name === wanted);
      if (!named) {
        void complain(vscode.l10n.t('There is no cluster {0} in the settings.', wanted));
      }
      return named;
    }
    const picked = clusters.length === 1 ? only : await this.#pick(clusters);
    if (picked) {
      await this.memory.update(LAST, picked.name);
    }
    return picked;
  }

  /** Whether a person agrees to the questions of a run; those that were answered for good are not asked again. */
  async agrees(cluster: Cluster, layout: string, questions: readonly Question[]): Promise<boolean> {
    const agreed = this.memory.get<Readonly<Record<string, readonly string[]>>>(AGREED, {});
    const open = questions.filter(({ code }) => !agreed[cluster.name]?.includes(code));
    if (open.length === 0) {
      return true;
    }
    const run = open.some(({ code }) => code === 'cpu') ? vscode.l10n.t('Run on the CPU') : vscode.l10n.t('Run Anyway');
    const always = vscode.l10n.t("Run, and Don't Ask Again");
    const detail = open.map(({ message }) => message).join('\n\n');
    const title = vscode.l10n.t('Run the smoke job of {0} on {1}?', layout, cluster.name);
    const choice = await ask(title, detail, run, always);
    if (choice === always) {
      const codes = new Set([...(agreed[cluster.name] ?? []), ...open.map(({ code }) => code)]);
      await this.memory.update(AGREED, { ...agreed, [cluster.name]: [...codes] });
    }
    return choice !== undefined;
  }

  async #pick(clusters: readonly Cluster[]): Promise<Cluster | undefined> {
    const last = this.memory.get<string>(LAST);
    const first = clusters.filter(({ name }) => name === last);
    const others = clusters.filter(({ name }) => name !== last);
    const item = (cluster: Cluster, ...said: readonly string[]) => ({
      label: `$(${cluster.kind === LOCAL.kind ? 'vm' : 'server-environment'}) ${workbenchText(cluster.name)}`,
      description: [...(cluster.kind === cluster.name ? [] : [cluster.kind]), ...said].join(', '),
      detail: CLUSTER_KINDS.find(({ kind }) => kind === cluster.kind)?.description ?? '',
      cluster,
    });
    const configure = { label: `$(gear) ${vscode.l10n.t('Configure Clusters...')}`, cluster: undefined };
    const items = [
      ...first.map((cluster) => item(cluster, vscode.l10n.t('used last'))),
      ...others.map((cluster) => item(cluster)),
      { label: '', kind: vscode.QuickPickItemKind.Separator, cluster: undefined },
      configure,
    ];
    const choice = await vscode.window.showQuickPick(items, {
      placeHolder: vscode.l10n.t('Where should the smoke job run?'),
      matchOnDescription: true,
      matchOnDetail: true,
    });
    if (choice === configure) {
      await openSettings(CLUSTERS);
    }
    return choice?.cluster;
  }
}

async function knownClusters(): Promise<Cluster[] | undefined> {
  try {
    return clustersOfSettings();
  } catch (error) {
    if (!(error instanceof ClusterError)) {
      throw error;
    }
    await complain(error.message);
    return undefined;
  }
}

async function complain(message: string): Promise<void> {
  const open = vscode.l10n.t('Open Settings');
  if ((await showError(message, open)) === open) {
    await openSettings(CLUSTERS);
  }
}
