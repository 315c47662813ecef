import * as vscode from 'vscode';
import { GridPanels } from './gridPanel';
import { Server } from './languageClient';
import { SmokeJobs } from './smoke';
import { createStatus } from './status';
import { LayoutTasks } from './tasks';

const LANGUAGE = 'parallelism-layout';

let server: Server | undefined;

/** Called by the editor when a layout file is opened or a command of ours is run. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const dist = vscode.Uri.joinPath(context.extensionUri, 'dist');
  const output = vscode.window.createOutputChannel('Parallelism Layout', { log: true });
  const running = new Server(vscode.Uri.joinPath(dist, 'server.js'), output);
  server = running;
  const panels = new GridPanels(context.extensionUri);
  const smoke = new SmokeJobs(dist, panels, output);
  const command = (name: string, run: (...arguments_: unknown[]) => unknown) =>
    vscode.commands.registerCommand(`parallelismLayout.${name}`, run);
  context.subscriptions.push(
    output,
    createStatus(running),
    panels.register(),
    smoke,
    vscode.tasks.registerTaskProvider(LANGUAGE, new LayoutTasks(vscode.Uri.joinPath(dist, 'cli.js'))),
    command('showGrid', (uri) => withLayout(uri, (document) => panels.show(document))),
    command('runSmokeJob', (uri) => withLayout(uri, (document) => smoke.run(document))),
    command('restartServer', () => running.restart()),
    command('showOutput', () => output.show()),
  );
  // the server offers the smoke job only where it may run
  context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(() => running.restart()));
  await vscode.commands.executeCommand('setContext', 'parallelismLayout.active', true);
  await running.start();
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}

/** Runs an action on the layout that a menu or a lens names, or else on the one in the active editor. */
async function withLayout<T>(
  uri: unknown,
  action: (document: vscode.TextDocument) => T | Promise<T>,
): Promise<T | undefined> {
  // a menu gives an address, a lens of the server its text
  const named = typeof uri === 'string' ? vscode.Uri.parse(uri, true) : uri;
  const document =
    named instanceof vscode.Uri
      ? await vscode.workspace.openTextDocument(named)
      : vscode.window.activeTextEditor?.document;
  if (document?.languageId === LANGUAGE) {
    return action(document);
  }
  void vscode.window.showInformationMessage(vscode.l10n.t('Open a layout file (*.layout.yaml) first.'));
  return undefined;
}
