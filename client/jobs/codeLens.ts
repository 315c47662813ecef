import * as vscode from 'vscode';
import { layoutHash } from '../../jobs';
import { workbenchText } from '../../layout';
import { understoodDocument } from '../understoodDocument';
import type { SmokeJobs } from './jobs';
import { outcomeIcon, outcomeText, timeOf } from './runSummary';

/** A lens drops plain blanks beside an icon. */
const GAP = '\u00a0';

/** A lens above a layout: its smoke job in progress, or how the last one ended. */
export class SmokeLenses implements vscode.CodeLensProvider {
  readonly onDidChangeCodeLenses: vscode.Event<void>;

  constructor(readonly jobs: SmokeJobs) {
    this.onDidChangeCodeLenses = jobs.onDidChange;
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const run = this.jobs.activeOf(document.uri);
    const last = this.jobs.lastOf(document.uri);
    // a layout without a job is not checked
    const { facts, resolved } = run || last ? understoodDocument(document) : {};
    if (!facts) {
      return [];
    }
    const start = document.positionAt(facts.span.start);
    const lens = (title: string, command: string, tooltip: string, ...arguments_: unknown[]) => [
      new vscode.CodeLens(new vscode.Range(start, start), { title, command, tooltip, arguments: arguments_ }),
    ];
    if (run) {
      return lens(
        `$(sync~spin)${GAP}${vscode.l10n.t('Smoke job on {0}: cancel', workbenchText(run.request.cluster))}`,
        'parallelismLayout.cancelSmokeJob',
        vscode.l10n.t('Cancel the smoke job'),
        document.uri.toString(),
      );
    }
    if (!last) {
      return [];
    }
    const changed = !resolved || layoutHash(resolved) !== last.layoutHash;
    const said = vscode.l10n.t('{0} on {1}, {2}', outcomeText(last), workbenchText(last.cluster), timeOf(last));
    return lens(
      changed
        ? `$(history)${GAP}${vscode.l10n.t('Smoke job before the last change: {0}', said)}`
        : `$(${outcomeIcon(last)})${GAP}${vscode.l10n.t('Smoke job {0}', said)}`,
      'parallelismLayout.showSmokeReport',
      vscode.l10n.t('Open the report of the last smoke job'),
      last.id,
    );
  }
}
