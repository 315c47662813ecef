import * as vscode from 'vscode';
import { type GroupOperations, layoutHash, measuresSpeed, type RunRecord, type RunRequest } from '../../jobs';
import type { GroupResult } from '../../picture/smokeOutcome';
import type { GridPanels } from '../grid/panel';
import { showError, showInformation } from '../notifications';
import { understoodDocument } from '../understoodDocument';
import type { ActiveRun, EndedRun, SmokeJobs } from './jobs';

const CANCELLED = 'cancelled';

/** Shows the outcome of a run on the rank grid of its layout. */
export function drawResult(
  panels: GridPanels,
  { uri, verdict, fault, device, cluster, started, seconds }: RunRecord,
  groups: readonly GroupOperations[],
): void {
  const passed = groups.map((group) => passedGroup(group, device));
  const failed =
    fault?.kind === undefined || fault.idx === undefined
      ? []
      : [{ name: fault.kind, module: fault.module ?? null, index: fault.idx, ok: false, busGBs: null }];
  panels.showResult(vscode.Uri.parse(uri), {
    type: 'smoke',
    verdict,
    groups: [...passed, ...failed],
    suspects: fault?.culprits ?? [],
    message: fault?.msg,
    origin: { cluster, device, started, seconds },
  });
}

const passedGroup = ({ kind, module, idx, ops }: GroupOperations, device: string): GroupResult => ({
  name: kind,
  module,
  index: idx,
  ok: true,
  busGBs: measuresSpeed(device) ? (ops.all_reduce?.busGBs ?? null) : null,
});

/** Shows how far a run is on the rank grid of its layout. What an earlier run found is gone from there. */
function drawStep(panels: GridPanels, { request, progress }: ActiveRun): void {
  const { uri, cluster, started } = request;
  panels.showResult(vscode.Uri.parse(uri), {
    type: 'smoke',
    verdict: '',
    groups: progress.groups.map((group) => passedGroup(group, progress.device)),
    suspects: [],
    origin: { cluster, device: progress.device, started, seconds: null },
    running: { text: progress.step.text, up: progress.ranks },
  });
}

/**
 * Shows on the grid of a layout how its last run ended, now and when a grid opens, while the resolved layout is the one of that
 * run, and the progress of one that is not over. Cancelled runs do not count.
 */
export function drawResults(panels: GridPanels, jobs: SmokeJobs): vscode.Disposable {
  const draw = async (document: vscode.TextDocument) => {
    const uri = document.uri.toString();
    const record = jobs.history.runs.find((one) => one.uri === uri && one.verdict !== CANCELLED);
    if (panels.resultsOf(document.uri).has('smoke') || !record) {
      return;
    }
    const { resolved } = understoodDocument(document);
    if (!resolved || layoutHash(resolved) !== record.layoutHash) {
      return;
    }
    const detail = await jobs.history.detail(record);
    if (detail && !panels.resultsOf(document.uri).has('smoke')) {
      drawResult(panels, record, detail.groups);
    }
  };
  /** Shows again what the run before one without a result found of the same layout. */
  const drawEarlier = async ({ uri, layoutHash: hash, cluster, started }: RunRequest, verdict: string) => {
    const record = jobs.history.runs.find(
      (one) => one.uri === uri && one.layoutHash === hash && one.verdict !== CANCELLED,
    );
    const detail = record && (await jobs.history.detail(record));
    if (record && detail) {
      drawResult(panels, record, detail.groups);
      return;
    }
    const origin = { cluster, device: '', started, seconds: null };
    panels.showResult(vscode.Uri.parse(uri), { type: 'smoke', verdict, groups: [], suspects: [], origin });
  };
  return vscode.Disposable.from(
    jobs.onDidStep((run) => drawStep(panels, run)),
    jobs.onDidEnd(({ record, result }) =>
      record.verdict === CANCELLED ? drawEarlier(record, CANCELLED) : drawResult(panels, record, result.groups),
    ),
    jobs.onDidFail(({ request }) => drawEarlier(request, 'did not run')),
    panels.onDidOpen(draw),
    // a grid that is restored with its window opens before the history is read
    jobs.onDidChange(() => panels.documents.forEach(draw)),
  );
}

/** Notifies of the end of a run, and offers the next steps. */
export async function notifyEnd({ record, result }: EndedRun): Promise<void> {
  const actions = new Map([
    [vscode.l10n.t('Show Grid'), 'showSmokeRunOnGrid'],
    [vscode.l10n.t('Show Report'), 'showSmokeReport'],
    [vscode.l10n.t('Show Log'), 'showSmokeLog'],
    [vscode.l10n.t('Run Again'), 'rerunSmokeJob'],
  ]);
  const [grid = '', report = '', log = '', again = ''] = actions.keys();
  const { name, cluster, seconds } = record;
  const took = seconds.toFixed(1);
  const say = () => {
    if (record.ok) {
      const text = vscode.l10n.t(
        'Smoke job of {0} passed on {1}: {2} process groups in {3} s.',
        ...[name, cluster, result.groups.length, took],
      );
      return showInformation(text, grid, report);
    }
    if (record.verdict === CANCELLED) {
      const text = vscode.l10n.t('Smoke job of {0} cancelled on {1} after {2} s.', name, cluster, took);
      return showInformation(text, again, log);
    }
    const why = result.fault?.msg ?? vscode.l10n.t('the job ended without a verdict');
    const text = vscode.l10n.t('Smoke job of {0} failed on {1}: {2}', name, cluster, why);
    return showError(text, report, log, again);
  };
  const choice = await say();
  if (choice !== undefined) {
    await vscode.commands.executeCommand(`parallelismLayout.${actions.get(choice)}`, record.id);
  }
}
