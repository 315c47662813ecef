import * as vscode from 'vscode';
import { type Verification, verificationReport } from '../../jobs';
import { nameOf } from '../paths';

/** The scheme of the documents that show what was found of a run. */
const SCHEME = 'parallelism-layout-run';

/** The last report of each layout, as a document that can be read and copied, but not changed. */
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

  async show(layout: vscode.Uri): Promise<void> {
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uriOf(layout)), { preview: true });
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changed.dispose();
  }
}

function uriOf(layout: vscode.Uri): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${nameOf(layout)}.md`, query: layout.toString() });
}
