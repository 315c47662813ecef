import * as vscode from 'vscode';
import { check, hasErrors } from '../layout';
import {
  type Cluster,
  ClusterError,
  EnvironmentError,
  type Fault,
  LOCAL,
  lineOfGroup,
  parseClusters,
  runSmoke,
  type SmokeResult,
  smokePlan,
} from './cluster';
import type { GridPanels } from './gridPanel';

/** Runs smoke jobs from the editor: progress, cancel, log, findings on the layout, results on the grid. */
export class SmokeJobs implements vscode.Disposable {
  readonly #failures = vscode.languages.createDiagnosticCollection('parallelism-layout-smoke');
  readonly #running = new Set<AbortController>();
  readonly #log: JobLog;

  constructor(
    readonly dist: vscode.Uri,
    readonly panels: GridPanels,
    readonly output: vscode.LogOutputChannel,
  ) {
    this.#log = new JobLog();
  }

  dispose(): void {
    for (const run of this.#running) {
      run.abort();
    }
    this.#failures.dispose();
    this.#log.dispose();
  }

  /** Runs the smoke job of a document; gives its result, or undefined where there was nothing to run. */
  async run(document: vscode.TextDocument): Promise<SmokeResult | undefined> {
    if (!vscode.workspace.isTrusted) {
      void vscode.window.showErrorMessage(
        vscode.l10n.t('The smoke job starts processes on this machine, so it runs in a trusted workspace only.'),
      );
      return undefined;
    }
    const cluster = await this.#chooseCluster();
    return cluster && this.#runOn(document, cluster);
  }

  async #runOn(document: vscode.TextDocument, cluster: Cluster): Promise<SmokeResult | undefined> {
    const checked = check(document.getText());
    const { resolved, facts } = checked;
    if (hasErrors(checked) || !resolved || !facts) {
      await vscode.commands.executeCommand('workbench.actions.view.problems');
      void vscode.window.showErrorMessage(vscode.l10n.t('The layout has errors, so there is nothing to prove yet.'));
      return undefined;
    }
    const plan = smokePlan(resolved, facts, document.uri.path.split('/').at(-1) ?? 'layout', cluster.backend ?? 'auto');
    const abort = new AbortController();
    this.#running.add(abort);
    this.#failures.delete(document.uri);
    this.#log.clear(`${plan.name}: ${plan.world_size} ranks on ${cluster.name}`);
    const job = vscode.Uri.joinPath(this.dist, 'smoke').fsPath;
    try {
      const result = await this.#withProgress(plan.name, abort, (report) =>
        runSmoke(
          { plan, cluster, job },
          {
            onLaunch: ({ command, backend }) => this.#log.line(`${backend}: ${JSON.stringify(command)}`),
            onEvent: (_, { ranks, world, groups, allGroups }) =>
              report(
                ranks < world ? ranks / world / 5 : 0.2 + (0.8 * groups) / allGroups,
                progressText(ranks, world, groups, allGroups),
              ),
            onLog: (line) => this.#log.line(line),
          },
          abort.signal,
        ),
      );
      this.#show(document, result);
      return result;
    } catch (error) {
      if (!abort.signal.aborted) {
        await this.#sayWhy(error, document);
      }
      return undefined;
    } finally {
      this.#running.delete(abort);
    }
  }

  async #chooseCluster(): Promise<Cluster | undefined> {
    try {
      const clusters = parseClusters(vscode.workspace.getConfiguration('parallelismLayout').get('clusters', []));
      const python = vscode.workspace.getConfiguration('parallelismLayout').get('python', '');
      const complete = clusters.map((cluster) => (python && !cluster.python ? { ...cluster, python } : cluster));
      if (complete.length === 1) {
        return complete[0];
      }
      const items = complete.map((cluster) => ({ label: cluster.name, description: cluster.kind, cluster }));
      const placeHolder = vscode.l10n.t('Where should the smoke job run?');
      return (await vscode.window.showQuickPick(items, { placeHolder }))?.cluster;
    } catch (error) {
      if (!(error instanceof ClusterError)) {
        throw error;
      }
      const open = vscode.l10n.t('Open Settings');
      if ((await vscode.window.showErrorMessage(error.message, open)) === open) {
        await vscode.commands.executeCommand('workbench.action.openSettings', 'parallelismLayout.clusters');
      }
      return LOCAL;
    }
  }

  /** Runs an action behind a notification that shows how far it is and can cancel it. */
  async #withProgress(
    name: string,
    abort: AbortController,
    action: (report: (share: number, message: string) => void) => Promise<SmokeResult>,
  ): Promise<SmokeResult> {
    const title = vscode.l10n.t('Smoke job {0}', name);
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    return vscode.window.withProgress(options, (progress, token) => {
      token.onCancellationRequested(() => abort.abort());
      let shown = 0;
      return action((share, message) => {
        const increment = Math.max(0, share * 100 - shown);
        shown += increment;
        progress.report({ increment, message });
      });
    });
  }

  #show(document: vscode.TextDocument, result: SmokeResult): void {
    this.panels.showSmoke(document.uri, {
      type: 'smoke',
      verdict: result.verdict,
      groups: result.groups.map(({ kind, module, idx, ops }) => ({
        name: kind,
        module,
        index: idx,
        ok: true,
        busGBs: ops.all_reduce?.busGBs ?? null,
      })),
      suspects: result.fault?.culprits ?? [],
    });
    if (result.fault && result.verdict !== 'cancelled') {
      this.#failures.set(document.uri, [failureOf(document, result.fault)]);
    }
    void this.#notify(document, result);
  }

  async #notify(document: vscode.TextDocument, result: SmokeResult): Promise<void> {
    const grid = vscode.l10n.t('Show Grid');
    const log = vscode.l10n.t('Show Log');
    const again = vscode.l10n.t('Run Again');
    const seconds = result.seconds.toFixed(1);
    const choice = result.ok
      ? await vscode.window.showInformationMessage(
          vscode.l10n.t(
            'Smoke job passed: {0} process groups in {1} s on {2}.',
            result.groups.length,
            seconds,
            result.device,
          ),
          grid,
          log,
        )
      : result.verdict === 'cancelled'
        ? await vscode.window.showInformationMessage(
            vscode.l10n.t('Smoke job cancelled after {0} s.', seconds),
            again,
            log,
          )
        : await vscode.window.showErrorMessage(
            vscode.l10n.t(
              'Smoke job failed: {0}',
              result.fault?.msg ?? vscode.l10n.t('the job broke off without a verdict'),
            ),
            log,
            grid,
            again,
          );
    if (choice === grid) {
      this.panels.show(document);
    } else if (choice === log) {
      this.#log.show();
    } else if (choice === again) {
      await this.run(document);
    }
  }

  async #sayWhy(error: unknown, document: vscode.TextDocument): Promise<void> {
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof EnvironmentError)) {
      this.output.error(`smoke job of ${document.uri.toString(true)}: ${message}`);
    }
    const settings = vscode.l10n.t('Open Settings');
    if ((await vscode.window.showErrorMessage(message, settings)) === settings) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'parallelismLayout');
    }
  }
}

function progressText(ranks: number, world: number, groups: number, allGroups: number): string {
  return ranks < world
    ? vscode.l10n.t('{0} of {1} ranks up', ranks, world)
    : vscode.l10n.t('{0} of {1} process groups done', groups, allGroups);
}

/** A fault as a diagnostic on the line of the layout that it comes from. */
function failureOf(document: vscode.TextDocument, { code, kind, module, msg }: Fault): vscode.Diagnostic {
  const { facts, lines } = check(document.getText());
  const line = facts ? lineOfGroup(facts, lines, kind, module ?? null) : 0;
  const { range, firstNonWhitespaceCharacterIndex } = document.lineAt(Math.min(line, document.lineCount - 1));
  const text = new vscode.Range(range.start.with({ character: firstNonWhitespaceCharacterIndex }), range.end);
  const diagnostic = new vscode.Diagnostic(text, vscode.l10n.t('Smoke job: {0}', msg));
  diagnostic.source = 'parallelism-layout';
  diagnostic.code = `smoke-${code.replaceAll('_', '-')}`;
  return diagnostic;
}

/** What the job and its ranks write, in a terminal that appears when somebody asks for it. */
class JobLog implements vscode.Disposable {
  readonly #written = new vscode.EventEmitter<string>();
  #lines: string[] = [];
  #terminal: vscode.Terminal | undefined;

  clear(title: string): void {
    this.#lines = [];
    this.#written.fire('\u001b[2J\u001b[3J\u001b[H');
    this.line(title);
  }

  line(text: string): void {
    // what ranks write may hold control sequences; only colours could be wanted, and they are not
    const plain = text.replaceAll(/[^\P{Cc}\t]/gu, '');
    this.#lines.push(plain);
    this.#written.fire(`${plain}\r\n`);
  }

  show(): void {
    this.#terminal ??= vscode.window.createTerminal({
      name: vscode.l10n.t('Smoke Job'),
      iconPath: new vscode.ThemeIcon('beaker'),
      pty: {
        onDidWrite: this.#written.event,
        open: () => this.#written.fire(this.#lines.map((line) => `${line}\r\n`).join('')),
        close: () => {
          this.#terminal = undefined;
        },
      },
    });
    this.#terminal.show();
  }

  dispose(): void {
    this.#terminal?.dispose();
    this.#written.dispose();
  }
}
