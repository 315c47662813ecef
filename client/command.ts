import * as vscode from 'vscode';
import { layoutDocument } from './layoutDocument';

/** Registers a command of this extension by its name without the prefix. */
export function command(name: string, run: (...arguments_: unknown[]) => unknown): vscode.Disposable {
  return vscode.commands.registerCommand(`parallelismLayout.${name}`, run);
}

/** Registers a command on a layout: that which its first argument names, or as `layoutDocument` finds it. */
export function layoutCommand(
  name: string,
  run: (document: vscode.TextDocument, ...arguments_: unknown[]) => unknown,
): vscode.Disposable {
  return command(name, async (...arguments_) => {
    const document = await layoutDocument(arguments_[0]);
    return document && run(document, ...arguments_);
  });
}
