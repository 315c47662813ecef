import * as vscode from 'vscode';

/** What a person has done, as the walkthrough ticks it: `package.json` names the same contexts. */
export type Milestone = 'createdLayout' | 'mendedMistake' | 'sawNumbers' | 'sawGrid';

const reached = new Set<Milestone>();

/** Ticks a step of the walkthrough: the thing has been done, not only asked for. */
export function reach(milestone: Milestone): void {
  if (!reached.has(milestone)) {
    reached.add(milestone);
    void vscode.commands.executeCommand('setContext', `parallelismLayout.${milestone}`, true);
  }
}
