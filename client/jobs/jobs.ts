import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import {
  attachSmoke,
  type Cluster,
  type CommBackend,
  DETACH,
  dryRunScript,
  EnvironmentError,
  forgetRun,
  groupsToPass,
  LOCAL,
  layoutHash,
  type NamedRun,
  prepareSmoke,
  RECORD_VERSION,
  type RunHistory,
  type RunRecord,
  type RunRequest,
  recordOf,
  runSmoke,
  type SavedRun,
  type SmokeListener,
  type SmokePlan,
  type SmokeRequest,
  type SmokeResult,
  savedRuns,
  smokePlan,
  TooFewGpusError,
} from '../../jobs';
import { hasErrors, type ResolvedLayout } from '../../layout';
import { ask, messageOf, showError, showInformation, withProgress } from '../notifications';
import { nameOf } from '../paths';
import { NOT_CHECKED, type ServerDiagnostics } from '../serverDiagnostics';
import { isTrusted } from '../trust';
import { understoodDocument } from '../understoodDocument';
import { openSettings } from './clusterSettings';
import type { Choices } from './pickCluster';
import { RunProgress, showProgress } from './progress';
import { JobLog } from './terminal';

/** What a command or key binding chooses for a run beside the layout. */
export interface RunOptions {
  /** The name of a cluster; left out, a person chooses. */
  readonly cluster?: string | undefined;
  /** Instead of the cluster's own. */
  readonly backend?: CommBackend | undefined;
}

/** A run in progress. */
export interface ActiveRun extends NamedRun {
  readonly progress: RunProgress;
  readonly log: JobLog;
  readonly cluster: Cluster;
  /** Ends it at once. */
  readonly abort: AbortController;
  /** Ends it; on a cluster after a person confirms. */
  cancel(): Promise<void>;
}

/** A run that has ended. */
export interface EndedRun {
  readonly record: RunRecord;
  readonly result: SmokeResult;
}

/** How a run ended, and the backend that it used. */
interface Outcome {
  readonly result: SmokeResult;
  readonly backend: string;
}

/** What a run needs of a layout without errors. */
interface Runnable {
  readonly layout: ResolvedLayout;
  readonly plan: SmokePlan;
}

/** Runs smoke jobs, one at a time for each layout and one at a time on this machine, and keeps their history. */
export class SmokeJobs implements vscode.Disposable {
  readonly #running = new Map<string, ActiveRun>();
  readonly #logs = new Map<string, JobLog>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #ended = new vscode.EventEmitter<EndedRun>();
  /** The end of the last run on this machine: two at once would distort each other's measurements. */
  #machineFree: Promise<unknown> = Promise.resolve();

  /** Fires when a run begins or ends, and when the history changes. */
  readonly onDidChange = this.#changed.event;
  readonly onDidEnd = this.#ended.event;
  readonly #stepped = new vscode.EventEmitter<ActiveRun>();
  /** Fires when a run starts, and a few times a second during the run. */
  readonly onDidStep = this.#stepped.event;
  readonly #failed = new vscode.EventEmitter<ActiveRun>();
  /** Fires when a run could not start, or ended without a result. */
  readonly onDidFail = this.#failed.event;

  /**
   * @param jobFolder the folder of the Python job
   * @param submitted the folder of runs whose jobs outlive this window
   */
  constructor(
    readonly jobFolder: string,
    readonly history: RunHistory,
    readonly submitted: string,
    readonly choices: Choices,
    readonly said: ServerDiagnostics,
    readonly output: vscode.LogOutputChannel,
  ) {}

  /** The runs in progress, the last first. */
  get active(): readonly ActiveRun[] {
    return [...this.#running.values()].reverse();
  }

  activeOf(document: vscode.Uri): ActiveRun | undefined {
    return this.#running.get(document.toString());
  }

  /** The last run of a document that has ended. */
  lastOf(document: vscode.Uri): RunRecord | undefined {
    const uri = document.toString();
    return this.history.runs.find((record) => record.uri === uri);
  }

  dispose(): void {
    for (const { abort } of this.active) {
      // a job on a cluster continues, and is followed again when the window is back
      abort.abort(DETACH);
    }
    for (const log of this.#logs.values()) {
      log.dispose();
    }
    this.#changed.dispose();
    this.#ended.dispose();
    this.#stepped.dispose();
    this.#failed.dispose();
  }

  /** Reads the history, and follows jobs of earlier sessions that still run. */
  async load(): Promise<void> {
    await this.history.load();
    this.#changed.fire();
    const left = vscode.workspace.isTrusted ? savedRuns(this.submitted) : [];
    await Promise.all(left.map((run) => this.#followAgain(run)));
  }

  /** Runs the smoke job of a document. Undefined where nothing ran. */
  async run(document: vscode.TextDocument, options: RunOptions = {}): Promise<SmokeResult | undefined> {
    if (!mayRun() || this.#tellBusy(document.uri)) {
      return undefined;
    }
    const runnable = await runnableOf(document, this.said);
    const cluster = runnable && (await this.choices.cluster(options.cluster));
    if (!cluster || this.#tellBusy(document.uri)) {
      return undefined;
    }
    const { plan, layout } = runnable;
    const run = this.#begin(randomUUID(), requestOf(document, layout, plan, cluster), cluster);
    const { id, request } = run;
    const smoke = { plan, cluster, jobFolder: this.jobFolder, run: { id, request }, ...backendOf(options) };
    return this.#toEnd(run, this.#runAlone(run, smoke));
  }

  /** Follows a job of an earlier session. */
  async #followAgain(saved: SavedRun): Promise<void> {
    if (saved.request) {
      const run = this.#begin(saved.id, saved.request, saved.cluster);
      const following = attachSmoke(saved, listenerOf(run), run.abort.signal, this.submitted);
      await this.#toEnd(
        run,
        following.then((result) => ({ result, backend: saved.plan.backend })),
      );
    }
  }

  /** Shows the progress of a run until it ends, and adds it to the history. */
  async #toEnd(run: ActiveRun, running: Promise<Outcome>): Promise<SmokeResult | undefined> {
    const { abort, cluster } = run;
    void showProgress(
      vscode.l10n.t('Smoke job of {0} on {1}', run.request.name, cluster.name),
      run.progress,
      running,
      () => mayCancel(run),
      () => abort.abort(),
    );
    try {
      const { result, backend } = await running;
      const record = recordOf(run.id, run.request, backend, result);
      await this.#keep(record, result, run.log);
      this.#end(run);
      this.#ended.fire({ record, result });
      return result;
    } catch (error) {
      if (abort.signal.reason !== DETACH) {
        this.#end(run);
        this.#failed.fire(run);
      }
      if (!abort.signal.aborted) {
        void this.#sayWhy(error, run);
      }
      return undefined;
    }
  }

  /** Opens a document with exactly what would run. Only the interpreter is started, to see what it has. */
  async dryRun(document: vscode.TextDocument, options: RunOptions = {}): Promise<void> {
    if (!mayRun()) {
      return;
    }
    const runnable = await runnableOf(document, this.said);
    const cluster = runnable && (await this.choices.cluster(options.cluster));
    if (!cluster) {
      return;
    }
    const { plan } = runnable;
    const title = vscode.l10n.t('Dry run of the smoke job of {0} on {1}', plan.name, cluster.name);
    try {
      const launch = await withProgress({ location: vscode.ProgressLocation.Window, title }, () =>
        prepareSmoke({ plan, cluster, jobFolder: this.jobFolder, dryRun: true, ...backendOf(options) }),
      );
      const content = dryRunScript(launch, title);
      await vscode.window.showTextDocument(
        await vscode.workspace.openTextDocument({ language: 'shellscript', content }),
        { preview: false },
      );
    } catch (error) {
      await this.#sayWhy(error);
    }
  }

  /** The log of a run, of this session or an earlier one. */
  async showLog({ id, request }: NamedRun, record?: RunRecord): Promise<void> {
    const lines = record ? (await this.history.detail(record))?.log : undefined;
    const log = this.#logs.get(id) ?? new JobLog(logName(request), lines ?? []);
    this.#logs.set(id, log);
    log.show();
  }

  async remove(records: readonly RunRecord[]): Promise<void> {
    await this.history.remove(records.map(({ id }) => id));
    this.#changed.fire();
  }

  async clear(): Promise<void> {
    await this.history.clear();
    this.#changed.fire();
  }

  #begin(id: string, request: RunRequest, cluster: Cluster): ActiveRun {
    const { layoutHash: hash, uri: key } = request;
    const before = this.history.runs.find(
      (record) => record.ok && record.cluster === cluster.name && record.uri === key && record.layoutHash === hash,
    );
    const log = new JobLog(logName(request));
    const run: ActiveRun = {
      id,
      request,
      progress: new RunProgress(before?.seconds, request.world, () => this.#stepped.fire(run)),
      log,
      cluster,
      abort: new AbortController(),
      cancel: async () => {
        if (await mayCancel(run)) {
          run.abort.abort();
        }
      },
    };
    this.#logs.set(id, log);
    this.#running.set(key, run);
    this.#changed.fire();
    this.#stepped.fire(run);
    log.line(vscode.l10n.t('Smoke job of {0}: {1} ranks on {2}', request.name, request.world, cluster.name));
    return run;
  }

  #end(run: ActiveRun): void {
    this.#running.delete(run.request.uri);
    run.progress.dispose();
    this.#changed.fire();
    forgetRun(this.submitted, run);
  }

  /** Runs a job; one on this machine waits until the machine is free. */
  async #runAlone(run: ActiveRun, request: SmokeRequest<Cluster>): Promise<Outcome> {
    if (request.cluster.kind !== LOCAL.kind) {
      return this.#runWhereAgreed(run, request);
    }
    const before = this.#machineFree;
    run.progress.say(vscode.l10n.t('getting ready'));
    if ([...this.#running.values()].some((other) => other !== run && other.request.kind === LOCAL.kind)) {
      run.progress.say(vscode.l10n.t('waiting until this machine is free'));
    }
    const running = untilAborted(before, run.abort.signal).then(() => this.#runWhereAgreed(run, request));
    this.#machineFree = Promise.allSettled([before, running]);
    return running;
  }

  /** Runs a job, on the CPU where there are too few GPUs and a person agrees. */
  async #runWhereAgreed(run: ActiveRun, request: SmokeRequest<Cluster>): Promise<Outcome> {
    try {
      return await this.#follow(run, request);
    } catch (error) {
      const cpu = { code: 'cpu', message: error instanceof Error ? error.message : '' } as const;
      if (!(error instanceof TooFewGpusError)) {
        throw error;
      }
      if (!(await this.choices.agrees(request.cluster, run.request.name, [cpu]))) {
        run.abort.abort();
        throw error;
      }
      return this.#follow(run, { ...request, backend: 'gloo' });
    }
  }

  async #follow(run: ActiveRun, request: SmokeRequest<Cluster>): Promise<Outcome> {
    const { log, abort } = run;
    let used: CommBackend = request.backend ?? 'auto';
    const listener: SmokeListener = {
      ...listenerOf(run),
      onLaunch: async ({ command, backend, notes, questions }) => {
        used = backend;
        for (const note of notes) {
          log.line(note);
        }
        log.line(command.join(' '));
        if (!(await this.choices.agrees(request.cluster, run.request.name, questions ?? []))) {
          abort.abort();
        }
      },
    };
    return { result: await runSmoke(request, listener, abort.signal, this.submitted), backend: used };
  }

  async #keep(record: RunRecord, { groups }: SmokeResult, log: JobLog): Promise<void> {
    try {
      await this.history.add(record, { version: RECORD_VERSION, groups, log: log.lines });
    } catch (error) {
      // without room on the disk the result still counts
      this.output.error(`the run could not be kept: ${messageOf(error)}`);
    }
  }

  /** Whether a layout's job is running already; says so where it is. */
  #tellBusy(document: vscode.Uri): boolean {
    const busy = this.activeOf(document);
    if (busy) {
      const cancel = vscode.l10n.t('Cancel the Job');
      const log = vscode.l10n.t('Show Log');
      const message = vscode.l10n.t(
        'The smoke job of {0} is already running: {1}.',
        busy.request.name,
        busy.progress.step.text,
      );
      void showInformation(message, log, cancel).then((choice) => {
        if (choice === log) {
          busy.log.show();
        } else if (choice === cancel) {
          void busy.cancel();
        }
      });
    }
    return busy !== undefined;
  }

  async #sayWhy(error: unknown, run?: ActiveRun): Promise<void> {
    const message = messageOf(error);
    if (!(error instanceof EnvironmentError)) {
      this.output.error(`smoke job: ${message}`);
    }
    const settings = vscode.l10n.t('Open Settings');
    const log = vscode.l10n.t('Show Log');
    const choice = await showError(message, settings, ...(run ? [log] : []));
    if (choice === settings) {
      await openSettings('parallelismLayout');
    } else if (choice === log) {
      run?.log.show();
    }
  }
}

/** Sends the events of a run to its progress and its log. */
function listenerOf({ progress, log }: ActiveRun): SmokeListener {
  return {
    onEvent: (event, counts) => progress.event(event, counts),
    onState: (state) => progress.state(state),
    onLog: (line) => log.line(line),
  };
}

function mayRun(): boolean {
  return isTrusted(vscode.l10n.t('The smoke job starts processes, so it runs in a trusted workspace only.'));
}

/** The plan of a layout; says why where the layout has errors or is too large. */
async function runnableOf(document: vscode.TextDocument, said: ServerDiagnostics): Promise<Runnable | undefined> {
  const diagnostics = await said.ofText(document);
  if (!diagnostics) {
    void showError(NOT_CHECKED());
    return undefined;
  }
  const { resolved, facts } = understoodDocument(document);
  if (hasErrors({ diagnostics }) || !resolved || !facts) {
    await vscode.commands.executeCommand('workbench.actions.view.problems');
    void showError(vscode.l10n.t('Fix the errors of the layout first.'));
    return undefined;
  }
  try {
    return { layout: resolved, plan: smokePlan(resolved, facts, nameOf(document.uri), 'auto') };
  } catch (error) {
    if (!(error instanceof EnvironmentError)) {
      throw error;
    }
    void showError(error.message);
    return undefined;
  }
}

function requestOf(
  document: vscode.TextDocument,
  layout: ResolvedLayout,
  plan: SmokePlan,
  cluster: Cluster,
): RunRequest {
  return {
    uri: document.uri.toString(),
    name: plan.name,
    layoutHash: layoutHash(layout),
    cluster: cluster.name,
    kind: cluster.kind,
    started: new Date().toISOString(),
    world: plan.world_size,
    allGroups: groupsToPass(plan),
  };
}

/** Asks before a job on a cluster is cancelled: it may have waited for hours. */
async function mayCancel({ request: { name }, cluster }: ActiveRun): Promise<boolean> {
  if (cluster.kind === LOCAL.kind) {
    return true;
  }
  const yes = vscode.l10n.t('Cancel the Job');
  const title = vscode.l10n.t('Cancel the smoke job of {0} on {1}?', name, cluster.name);
  const detail = vscode.l10n.t('The job loses its place in the queue and its results so far.');
  return (await ask(title, detail, yes)) === yes;
}

function backendOf({ backend }: RunOptions): Pick<SmokeRequest, 'backend'> {
  return backend === undefined ? {} : { backend };
}

function logName({ name }: RunRequest): string {
  return vscode.l10n.t('Smoke Job: {0}', name);
}

/** Waits for a promise; throws once the signal is aborted. */
async function untilAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const aborted = new Promise((done) => signal.addEventListener('abort', done, { once: true }));
  await Promise.race([promise, aborted]);
  signal.throwIfAborted();
}
