import * as vscode from 'vscode';
import { GridPanels } from './gridPanel';
import { Server } from './languageClient';
import { layoutDocument } from './layoutDocument';
import { newLayout, openSample } from './newLayout';
import type { Platform } from './platform/platform';
import { createStatus } from './status';

let server: Server | undefined;

/** Starts the extension on a platform: the language server, the panels, the commands. */
export async function activate(context: vscode.ExtensionContext, platform: Platform): Promise<void> {
  const dist = vscode.Uri.joinPath(context.extensionUri, 'dist');
  const output = vscode.window.createOutputChannel('Parallelism Layout', { log: true });
  const running = new Server(platform, dist, output);
  server = running;
  const panels = new GridPanels(context.extensionUri);
  context.subscriptions.push(
    output,
    createStatus(running),
    panels.register(),
    command('showGrid', async (argument) => {
      const document = await layoutDocument(argument);
      return document && panels.show(document);
    }),
    command('newLayout', () => newLayout(context.extensionUri)),
    command('openSample', () => openSample(context.extensionUri)),
    command('openWalkthrough', () => openWalkthrough(context.extension.id)),
    command('restartServer', () => running.restart()),
    command('showOutput', () => output.show()),
    // the server offers the smoke job only where it may run
    vscode.workspace.onDidGrantWorkspaceTrust(() => running.restart()),
  );
  if (platform.registerJobs) {
    context.subscriptions.push(platform.registerJobs({ context, panels, output }));
    await vscode.commands.executeCommand('setContext', 'parallelismLayout.canRun', true);
  }
  await vscode.commands.executeCommand('setContext', 'parallelismLayout.active', true);
  void running.start();
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}

function command(name: string, run: (...arguments_: unknown[]) => unknown): vscode.Disposable {
  return vscode.commands.registerCommand(`parallelismLayout.${name}`, run);
}

function openWalkthrough(extension: string): Thenable<unknown> {
  return vscode.commands.executeCommand('workbench.action.openWalkthrough', `${extension}#getStarted`, false);
}
