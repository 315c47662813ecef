import * as vscode from 'vscode';
import { type Verification, verificationReport } from '../../jobs';
import { nameOf } from '../paths';
import { showMarkdown } from '../showMarkdown';

/** The scheme of the reports. */
const SCHEME = 'parallelism-layout-run';

/** The last report of each layout, as a read-only document. */
export class RunReports implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  readonly onDidChange = this.#changed.event;

  provideTextDocumentContent({ query }: vscode.Uri): string {
    return this.#texts.get(query) ?? vscode.l10n.t('This report is gone. Verify the layout again.');
  }

  /** Keeps the report of a layout in place of the one before. */
  set(layout: vscode.Uri, found: Verification): void {
    this.#texts.set(layout.toString(), verificationReport(found, nameOf(layout)));
    this.#changed.fire(uriOf(layout));
  }

  show(layout: vscode.Uri): Promise<void> {
    return showMarkdown(uriOf(layout));
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changed.dispose();
  }
}

function uriOf(layout: vscode.Uri): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${nameOf(layout)}.md`, query: layout.toString() });
}
