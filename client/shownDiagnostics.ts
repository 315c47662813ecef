import * as vscode from 'vscode';
import type { HandleDiagnosticsSignature } from 'vscode-languageclient';
import { launchOfLayout } from './launch/scriptLayouts';

const SECTION = 'parallelismLayout.diagnostics';

/** The least severity that each choice shows. */
const LEAST = {
  all: vscode.DiagnosticSeverity.Hint,
  warnings: vscode.DiagnosticSeverity.Warning,
  errors: vscode.DiagnosticSeverity.Error,
} as const;

/** Filters the server's diagnostics by the setting, and again when the setting changes. */
export class ShownDiagnostics implements vscode.Disposable {
  readonly #all = new Map<string, readonly [vscode.Uri, vscode.Diagnostic[], HandleDiagnosticsSignature]>();
  readonly #listener = vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(SECTION)) {
      for (const [uri, found, next] of this.#all.values()) {
        next(uri, shown(found));
      }
    }
  });

  handle(uri: vscode.Uri, found: vscode.Diagnostic[], next: HandleDiagnosticsSignature): void {
    if (launchOfLayout(uri)) {
      // nobody edits it: the list of problems would lead nowhere
      return;
    }
    if (found.length > 0) {
      this.#all.set(uri.toString(), [uri, found, next]);
    } else {
      this.#all.delete(uri.toString());
    }
    next(uri, shown(found));
  }

  dispose(): void {
    this.#listener.dispose();
  }
}

function shown(found: readonly vscode.Diagnostic[]): vscode.Diagnostic[] {
  const choice = vscode.workspace.getConfiguration(SECTION).get<keyof typeof LEAST>('show', 'all');
  const least = LEAST[choice] ?? LEAST.all;
  return found.filter(({ severity }) => severity <= least);
}
