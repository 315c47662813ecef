import * as vscode from 'vscode';
import { differenceText, type ExplainedDifference } from '../../jobs';
import { projectUrl } from '../../layout';
import { LANGUAGE, rangeOfLine } from '../layoutDocument';

/** The most differences of one layout that become diagnostics. */
const MAX_DIFFERENCES = 100;

/** Groups of a run that differ from the layout, as diagnostics on the layout's lines until its text changes. */
export class Differences implements vscode.Disposable {
  readonly #shown = vscode.languages.createDiagnosticCollection('parallelism-layout-run');
  readonly #subscriptions = vscode.Disposable.from(
    vscode.workspace.onDidChangeTextDocument(
      ({ document, contentChanges }) => contentChanges.length > 0 && this.#shown.delete(document.uri),
    ),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#shown.delete(uri)),
  );

  dispose(): void {
    this.#subscriptions.dispose();
    this.#shown.dispose();
  }

  /** Shows the differences that the last verification found. */
  show(document: vscode.TextDocument, differences: readonly ExplainedDifference[]): void {
    const diagnostics = differences.slice(0, MAX_DIFFERENCES).map((one) => diagnosticOf(document, one));
    this.#shown.set(document.uri, diagnostics);
  }
}

function diagnosticOf(document: vscode.TextDocument, difference: ExplainedDifference): vscode.Diagnostic {
  const { cause, line } = difference;
  const text = differenceText(difference);
  const message =
    cause === null
      ? vscode.l10n.t('In the run, {0}', text)
      : vscode.l10n.t('In the run, {0} These are the groups of {1}.', text, cause);
  const diagnostic = new vscode.Diagnostic(rangeOfLine(document, (line ?? 1) - 1), message);
  diagnostic.source = LANGUAGE;
  diagnostic.code = { value: 'run-groups', target: vscode.Uri.parse(projectUrl('docs/verify.md')) };
  return diagnostic;
}
