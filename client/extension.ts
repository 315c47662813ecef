import * as vscode from 'vscode';
import { GridPanels } from './grid/panel';
import type { Server } from './languageClient';
import { layoutDocument } from './layoutDocument';
import { newLayout, openSample } from './newLayout';
import type { Platform } from './platform/platform';
import { createStatus } from './status';

let server: Promise<Server> | undefined;

/** Starts the extension on a platform: panels and commands at once, the language server when the editor has a moment. */
export function activate(context: vscode.ExtensionContext, platform: Platform): void {
  const output = vscode.window.createOutputChannel('Parallelism Layout', { log: true });
  server = startServer(context, platform, output);
  const panels = new GridPanels(context.extensionUri);
  context.subscriptions.push(
    output,
    panels.register(),
    command('showGrid', async (argument) => {
      const document = await layoutDocument(argument);
      return document && panels.show(document);
    }),
    command('newLayout', () => newLayout(context.extensionUri)),
    command('openSample', () => openSample(context.extensionUri)),
    command('openWalkthrough', () => openWalkthrough(context.extension.id)),
    command('restartServer', restart),
    command('showOutput', () => output.show()),
    // the server offers the smoke job only where it may run
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  if (platform.registerJobs) {
    context.subscriptions.push(platform.registerJobs({ context, panels, output }));
    void setContext('canRun');
  }
  void setContext('active');
}

export async function deactivate(): Promise<void> {
  await (await server)?.dispose();
}

/** The client of the language server is half of what the extension loads, so the editor goes on before that. */
async function startServer(
  context: vscode.ExtensionContext,
  platform: Platform,
  output: vscode.LogOutputChannel,
): Promise<Server> {
  await new Promise((resolve) => setTimeout(resolve));
  const { Server } = await import('./languageClient');
  const create = await platform.loadClient(vscode.Uri.joinPath(context.extensionUri, 'dist'));
  const started = new Server(create, output, platform.registerJobs !== undefined);
  context.subscriptions.push(createStatus(started));
  void started.start();
  return started;
}

async function restart(): Promise<void> {
  await (await server)?.restart();
}

/** Tells menus what holds from now on. */
function setContext(name: string): Thenable<unknown> {
  return vscode.commands.executeCommand('setContext', `parallelismLayout.${name}`, true);
}

function command(name: string, run: (...arguments_: unknown[]) => unknown): vscode.Disposable {
  return vscode.commands.registerCommand(`parallelismLayout.${name}`, run);
}

function openWalkthrough(extension: string): Thenable<unknown> {
  return vscode.commands.executeCommand('workbench.action.openWalkthrough', `${extension}#getStarted`, false);
}
