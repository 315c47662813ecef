import * as vscode from 'vscode';
import { GridPanels } from './grid/panel';
import { Server } from './languageClient';
import { compareLaunchFiles, exportLayout } from './launch/commands';
import { registerImport } from './launch/importLayout';
import { registerTransfers } from './launch/transfer';
import { layoutDocument } from './layoutDocument';
import { reach, watchFixes } from './milestones';
import { newLayout, openSample } from './newLayout';
import { planLayouts } from './planLayouts';
import type { Platform } from './platform/platform';
import { reportIssue } from './reportIssue';
import { createStatus } from './status';
import { copyYamlSettings, offerYamlSettings } from './yamlSettings';

let server: Server | undefined;

/** Starts the extension on a platform. Commands and panels are there at once; the language server starts meanwhile. */
export function activate(context: vscode.ExtensionContext, platform: Platform): void {
  const output = vscode.window.createOutputChannel('Parallelism Layout', { log: true });
  const createClient = platform.createClient(vscode.Uri.joinPath(context.extensionUri, 'dist'));
  server = new Server(createClient, output, platform.registerJobs !== undefined);
  const panels = new GridPanels(context.extensionUri);
  context.subscriptions.push(
    output,
    createStatus(server),
    panels.register(),
    command('showGrid', async (argument) => {
      const document = await layoutDocument(argument);
      if (document) {
        panels.show(document);
        reach('sawGrid');
      }
    }),
    command('newLayout', () => newLayout(context.extensionUri)),
    registerTransfers(),
    registerImport(platform),
    command('exportLayout', async (argument) => {
      const document = await layoutDocument(argument);
      return document && exportLayout(document);
    }),
    command('compareLaunchFile', async (argument, launch) => {
      const document = await layoutDocument(argument);
      return document && compareLaunchFiles(document, launch);
    }),
    command('planLayouts', async (argument) => {
      const document = await layoutDocument(argument);
      return server && document && planLayouts(server, document);
    }),
    offerYamlSettings(context),
    watchFixes(),
    command('copyYamlSettings', copyYamlSettings),
    command('openSample', () => openSample(context.extensionUri)),
    command('openWalkthrough', () => openWalkthrough(context.extension.id)),
    command('restartServer', restart),
    command('showOutput', () => output.show()),
    command('reportIssue', () => reportIssue(context.extension)),
    // the server offers the smoke job only where it may run
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  if (platform.registerJobs) {
    context.subscriptions.push(platform.registerJobs({ context, panels, output }));
    void setContext('canRun');
  }
  void setContext('active');
  void server.start();
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}

async function restart(): Promise<void> {
  await server?.restart();
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
