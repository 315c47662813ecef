import * as vscode from 'vscode';
import { LANGUAGE } from './layoutDocument';

/** What a person has done, as the walkthrough ticks it: `package.json` names the same contexts. */
export type Milestone = 'createdLayout' | 'fixedMistake' | 'sawNumbers' | 'sawGrid';

const reached = new Set<Milestone>();

/** Ticks a step of the walkthrough: the thing has been done, not only asked for. */
export function reach(milestone: Milestone): void {
  if (!reached.has(milestone)) {
    reached.add(milestone);
    void vscode.commands.executeCommand('setContext', `parallelismLayout.${milestone}`, true);
  }
}

/** Ticks the step of fixing a mistake once a layout has had errors and has none any more. */
export function watchFixes(): vscode.Disposable {
  const wrong = new Set<string>();
  const hasErrors = (uri: vscode.Uri) =>
    vscode.languages.getDiagnostics(uri).some(({ severity }) => severity === vscode.DiagnosticSeverity.Error);
  const watching = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
    for (const { uri } of vscode.workspace.textDocuments.filter(({ languageId }) => languageId === LANGUAGE)) {
      const key = uri.toString();
      if (!uris.some((one) => one.toString() === key)) {
        continue;
      }
      if (hasErrors(uri)) {
        wrong.add(key);
      } else if (wrong.delete(key)) {
        reach('fixedMistake');
        watching.dispose();
      }
    }
  });
  return watching;
}
