import * as vscode from 'vscode';

/** Registers a command of this extension by its name without the prefix. */
export function command(name: string, run: (...arguments_: unknown[]) => unknown): vscode.Disposable {
  return vscode.commands.registerCommand(`parallelismLayout.${name}`, run);
}
