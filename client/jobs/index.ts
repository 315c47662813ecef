import * as vscode from 'vscode';
import { type CommBackend, RunHistory, type RunRecord } from '../../jobs';
import { workbenchText } from '../../layout';
import { command, layoutCommand } from '../command';
import type { GridPanels } from '../grid/panel';
import { LANGUAGE, layoutDocument } from '../layoutDocument';
import { ask, showError, showInformation } from '../notifications';
import type { JobHost } from '../platform/platform';
import { CLUSTERS, openSettings } from './clusterSettings';
import { SmokeLenses } from './codeLens';
import { showFaults } from './faultDiagnostics';
import { type ActiveRun, type RunOptions, SmokeJobs } from './jobs';
import { Choices } from './pickCluster';
import { REPORT, Reports } from './reports';
import { ActiveNode, RunNode, RunsView } from './runsView';
import { drawResult, drawResults, notifyEnd } from './showResults';

const VIEW = 'parallelismLayout.runs';

/** Registers all that has to do with smoke jobs: commands, history, diagnostics, lenses. */
export function registerSmokeJobs({ context, panels, said, output }: JobHost): vscode.Disposable {
  const storage = context.storageUri ?? context.globalStorageUri;
  const history = new RunHistory(vscode.Uri.joinPath(storage, 'runs').fsPath);
  const jobFolder = vscode.Uri.joinPath(context.extensionUri, 'dist', 'smoke').fsPath;
  const submitted = vscode.Uri.joinPath(storage, 'submitted').fsPath;
  const jobs = new SmokeJobs(jobFolder, history, submitted, new Choices(context.workspaceState), said, output);
  const reports = new Reports(jobs);
  const runs = new RunsView(jobs);
  const view = vscode.window.createTreeView(VIEW, {
    treeDataProvider: runs,
    canSelectMany: true,
    showCollapseAll: true,
  });
  void jobs.load();
  return vscode.Disposable.from(
    jobs,
    runs,
    view,
    showFaults(jobs),
    drawResults(panels, jobs),
    jobs.onDidChange(() => showState(view, jobs)),
    jobs.onDidEnd((ended) => void notifyEnd(ended)),
    vscode.languages.registerCodeLensProvider({ language: LANGUAGE }, new SmokeLenses(jobs)),
    vscode.workspace.registerTextDocumentContentProvider(REPORT, reports),
    ...commands(jobs, reports, panels, view),
  );
}

/** Shows the number of running jobs on the view's icon, and sets the contexts of menus. */
function showState(view: vscode.TreeView<unknown>, { active, history }: SmokeJobs): void {
  const value = active.length;
  view.badge = value === 0 ? undefined : { value, tooltip: vscode.l10n.t('{0} smoke jobs running', value) };
  const set = (key: string, holds: boolean) =>
    vscode.commands.executeCommand('setContext', `parallelismLayout.${key}`, holds);
  void set('smokeRunning', value > 0);
  void set('hasSmokeRuns', history.runs.length > 0);
}

function commands(
  jobs: SmokeJobs,
  reports: Reports,
  panels: GridPanels,
  view: vscode.TreeView<unknown>,
): vscode.Disposable[] {
  /** Registers a command that acts on the run that its argument names, or else on the last one. */
  const onRun = (name: string, run: (record: RunRecord) => unknown) =>
    command(name, (argument) => {
      const record = recordOf(jobs, argument);
      if (record) {
        return run(record);
      }
      void showInformation(vscode.l10n.t('No smoke job has run yet.'));
      return undefined;
    });
  return [
    layoutCommand('runSmokeJob', (document, argument) => jobs.run(document, optionsOf(argument))),
    command('dryRunSmokeJob', async (argument) => {
      const record = argument instanceof RunNode ? argument.record : undefined;
      const document = record ? await documentOf(record) : await layoutDocument(argument);
      return document && jobs.dryRun(document, record ? { cluster: record.cluster } : optionsOf(argument));
    }),
    onRun('rerunSmokeJob', async (record) => {
      const document = await documentOf(record);
      return document && jobs.run(document, { cluster: record.cluster, backend: wordOf(record.backend) });
    }),
    command('cancelSmokeJob', async (argument) => (await chooseActive(jobs, argument))?.cancel()),
    onRun('showSmokeReport', ({ id, name }) => reports.show(id, name)),
    onRun('copySmokeReport', async ({ id }) => {
      await vscode.env.clipboard.writeText((await reports.text(id)) ?? '');
      vscode.window.setStatusBarMessage(vscode.l10n.t('$(check) The report is on the clipboard'), 3000);
    }),
    onRun('showSmokeFault', showFault),
    onRun('showSmokeRunOnGrid', async (record) => {
      const document = await documentOf(record);
      const detail = await jobs.history.detail(record);
      if (document && detail) {
        drawResult(panels, record, detail.groups);
        panels.show(document, { results: 'smoke' });
      }
    }),
    command('showSmokeLog', async (argument) => {
      const active =
        argument instanceof ActiveNode ? argument.run : argument === undefined ? jobs.active[0] : undefined;
      const record = recordOf(jobs, argument);
      if (active) {
        await jobs.showLog(active);
      } else if (record) {
        await jobs.showLog({ id: record.id, request: record }, record);
      }
    }),
    command('deleteSmokeRun', (one, many) => {
      const chosen = Array.isArray(many) ? many : one === undefined ? view.selection : [one];
      return jobs.remove(chosen.filter((node) => node instanceof RunNode).map(({ record }) => record));
    }),
    command('configureClusters', () => openSettings(CLUSTERS)),
    command('clearSmokeRuns', async () => {
      const yes = vscode.l10n.t('Delete All');
      const title = vscode.l10n.t('Delete all smoke job runs of this workspace?');
      if ((await ask(title, undefined, yes)) === yes) {
        await jobs.clear();
      }
    }),
  ];
}

/** What a key binding asks for: `{"cluster": ..., "backend": ...}`. */
function optionsOf(argument: unknown): RunOptions {
  if (typeof argument !== 'object' || argument === null || argument instanceof vscode.Uri) {
    return {};
  }
  return {
    cluster: 'cluster' in argument && typeof argument.cluster === 'string' ? argument.cluster : undefined,
    backend: 'backend' in argument ? wordOf(argument.backend) : undefined,
  };
}

function wordOf(backend: unknown): CommBackend | undefined {
  return backend === 'auto' || backend === 'nccl' || backend === 'gloo' ? backend : undefined;
}

/** The run that a command names by its node or its id; without a name the last one. */
function recordOf({ history }: SmokeJobs, argument: unknown): RunRecord | undefined {
  if (argument instanceof RunNode) {
    return argument.record;
  }
  return argument === undefined ? history.runs[0] : history.runs.find(({ id }) => id === argument);
}

/** The run to cancel: the one that is named, the only one, or the one that a person picks. */
async function chooseActive(jobs: SmokeJobs, argument: unknown): Promise<ActiveRun | undefined> {
  if (argument instanceof ActiveNode) {
    return argument.run;
  }
  const { active } = jobs;
  if (typeof argument === 'string') {
    return active.find(({ request }) => request.uri === argument);
  }
  if (active.length <= 1) {
    return active[0];
  }
  const items = active.map((run) => ({
    label: workbenchText(run.request.name),
    description: run.progress.step.text,
    run,
  }));
  return (await vscode.window.showQuickPick(items, { placeHolder: vscode.l10n.t('Which smoke job?') }))?.run;
}

async function documentOf(record: RunRecord): Promise<vscode.TextDocument | undefined> {
  const uri = vscode.Uri.parse(record.uri);
  try {
    return await vscode.workspace.openTextDocument(uri);
  } catch {
    const path = vscode.workspace.asRelativePath(uri);
    void showError(vscode.l10n.t('The layout {0} is no longer there.', path));
    return undefined;
  }
}

/** Shows the line that the fault of a run comes from: that of its diagnostic, or the file where the layout has changed since. */
async function showFault(record: RunRecord): Promise<void> {
  const document = await documentOf(record);
  if (document) {
    const editor = await vscode.window.showTextDocument(document);
    const diagnostic = vscode.languages
      .getDiagnostics(document.uri)
      .find(({ code }) => typeof code === 'object' && String(code.value).startsWith('smoke-'));
    if (diagnostic) {
      editor.selection = new vscode.Selection(diagnostic.range.start, diagnostic.range.start);
      editor.revealRange(diagnostic.range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }
}
