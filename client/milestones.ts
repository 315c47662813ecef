import * as vscode from 'vscode';
import { LANGUAGE } from './layoutDocument';

/** The steps of the walkthrough: `package.json` names the same contexts. */
export type Milestone = 'createdLayout' | 'fixedMistake' | 'sawNumbers' | 'sawGrid';

const reached = new Set<Milestone>();

/** Ticks a step of the walkthrough once it is done, not when its command starts. */
export function reach(milestone: Milestone): void {
  if (!reached.has(milestone)) {
    reached.add(milestone);
    void vscode.commands.executeCommand('setContext', `parallelismLayout.${milestone}`, true);
  }
}

/** Ticks the step of fixing a mistake once a layout has had errors and has none any more. */
export function watchFixes(): vscode.Disposable {
  // by the version of the text: what clears without an edit was about an older text, such as a new file's before it is filled
  const wrong = new Map<string, number>();
  const hasErrors = (uri: vscode.Uri) =>
    vscode.languages.getDiagnostics(uri).some(({ severity }) => severity === vscode.DiagnosticSeverity.Error);
  const watching = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
    for (const document of vscode.workspace.textDocuments.filter(({ languageId }) => languageId === LANGUAGE)) {
      const { uri } = document;
      const key = uri.toString();
      if (!uris.some((one) => one.toString() === key)) {
        continue;
      }
      const since = wrong.get(key);
      if (hasErrors(uri)) {
        if (since === undefined && document.getText() !== '') {
          wrong.set(key, document.version);
        }
        continue;
      }
      wrong.delete(key);
      if (since !== undefined && document.version > since) {
        reach('fixedMistake');
        watching.dispose();
      }
    }
  });
  return watching;
}
