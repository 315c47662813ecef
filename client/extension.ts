import * as vscode from 'vscode';
import { addModel } from './addModel';
import { command, layoutCommand } from './command';
import { GridPanels } from './grid/panel';
import type { Server } from './languageClient';
import { compareLaunchFiles, exportLayout } from './launch/commands';
import { drawnDocument } from './launch/drawnDocument';
import { registerImport } from './launch/importLayout';
import { LaunchLenses } from './launch/lenses';
import { ScriptLayouts } from './launch/scriptLayouts';
import { registerTransfers } from './launch/transfer';
import { LANGUAGE } from './layoutDocument';
import { reach, watchFixes } from './milestones';
import { newLayout, openSample } from './newLayout';
import { messageOf } from './notifications';
import { planLayouts } from './planLayouts';
import type { Platform } from './platform/platform';
import { reportIssue } from './reportIssue';
import { ServerDiagnostics } from './serverDiagnostics';
import { createStatus } from './status';
import { copyYamlSettings, offerYamlSettings } from './yamlSettings';

let server: Promise<Server> | undefined;

/** Starts the extension on a platform. Commands and panels work at once, while the language server starts. */
export function activate(context: vscode.ExtensionContext, platform: Platform): void {
  const output = vscode.window.createOutputChannel('Parallelism Layout', { log: true });
  server = startServer(context, platform, output);
  server.catch((error: unknown) => output.error(`The language server could not be loaded: ${messageOf(error)}`));
  const said = new ServerDiagnostics(server);
  const panels = new GridPanels(context.extensionUri, said);
  context.subscriptions.push(
    output,
    said,
    panels.register(),
    command('showGrid', async (argument) => {
      const document = await drawnDocument(argument);
      if (document) {
        panels.show(document);
        reach('sawGrid');
      }
    }),
    command('newLayout', (into, from) => newLayout(context.extensionUri, into, from)),
    layoutCommand('addModel', addModel),
    registerTransfers(),
    registerImport(platform),
    new ScriptLayouts(() => panels.documents),
    LaunchLenses.register(),
    layoutCommand('exportLayout', (document) => exportLayout(document, said)),
    layoutCommand('compareLaunchFile', (document, _, launch) => compareLaunchFiles(document, launch)),
    layoutCommand('planLayouts', (document) => planLayouts(said, document)),
    offerYamlSettings(context),
    watchFixes(),
    command('copyYamlSettings', copyYamlSettings),
    command('openSample', () => openSample(context.extensionUri)),
    command('openWalkthrough', () =>
      vscode.commands.executeCommand('workbench.action.openWalkthrough', `${context.extension.id}#getStarted`, false),
    ),
    command('restartServer', restart),
    command('showOutput', () => output.show()),
    command('reportIssue', () => reportIssue(context.extension)),
    // the server offers the smoke job only where it may run
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  if (platform.registerJobs) {
    context.subscriptions.push(platform.registerJobs({ context, panels, said, output }));
    void setContext('canRun');
  }
  void setContext('active');
}

export async function deactivate(): Promise<void> {
  await (await server?.catch(() => undefined))?.dispose();
}

/** Loads and starts the language server's client, which takes longer to load than all else that activation needs. */
async function startServer(
  { extensionUri, subscriptions }: vscode.ExtensionContext,
  platform: Platform,
  output: vscode.LogOutputChannel,
): Promise<Server> {
  // a timer lets the activation end before the library is loaded
  await new Promise((resume) => setTimeout(resume));
  await untilNeeded(subscriptions);
  const createClient = await platform.clients(vscode.Uri.joinPath(extensionUri, 'dist'));
  const { Server } = await import('./languageClient');
  const started = new Server(createClient, output, platform.registerJobs !== undefined);
  subscriptions.push(createStatus(started));
  void started.start();
  return started;
}

/** Waits until there is something that the server checks: the extension also starts for launch scripts, which need none. */
function untilNeeded(subscriptions: vscode.Disposable[]): Promise<void> {
  return new Promise((resume) => {
    const look = () => {
      const checksScripts = vscode.workspace.getConfiguration('parallelismLayout').get('checkLaunchFiles') === true;
      if (checksScripts || vscode.workspace.textDocuments.some(({ languageId }) => languageId === LANGUAGE)) {
        watching.dispose();
        resume();
      }
    };
    const watching = vscode.Disposable.from(
      vscode.workspace.onDidOpenTextDocument(look),
      vscode.workspace.onDidChangeConfiguration(look),
    );
    subscriptions.push(watching);
    look();
  });
}

async function restart(): Promise<void> {
  await (await server)?.restart();
}

/** Sets a context of menus. */
function setContext(name: string): Thenable<unknown> {
  return vscode.commands.executeCommand('setContext', `parallelismLayout.${name}`, true);
}
