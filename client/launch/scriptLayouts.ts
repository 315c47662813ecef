import * as vscode from 'vscode';
import type { ImportOptions } from '../../layout/launch';
import { engine, readLaunchFile, relativePath } from './read';

/** The layouts that launch files describe, as documents that nobody edits: a panel draws them like a file's. */
const SCHEME = 'parallelism-layout-launch';

/** The address of the layout that a launch file describes. @param job one of its jobs, where it has several */
export const addressOfLaunch = (launch: vscode.Uri, job = ''): vscode.Uri =>
  vscode.Uri.from({ scheme: SCHEME, path: `${launch.path}.layout.yaml`, query: launch.toString(), fragment: job });

/** The launch file that a layout is read from; undefined for a layout that is a file itself. */
export const launchOfLayout = ({ scheme, query }: vscode.Uri): vscode.Uri | undefined =>
  scheme === SCHEME ? vscode.Uri.parse(query, true) : undefined;

/** Gives the layouts of launch files, which follow the text of their launch file. */
export class ScriptLayouts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #registered: vscode.Disposable;
  readonly onDidChange = this.#changed.event;

  /** @param drawn the documents that panels draw, which the editor may have closed */
  constructor(readonly drawn: () => readonly vscode.TextDocument[]) {
    this.#registered = vscode.Disposable.from(
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidChangeTextDocument(({ document }) => void this.#follow(document.uri)),
    );
  }

  dispose(): void {
    this.#registered.dispose();
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const launch = launchOfLayout(uri);
    const options: ImportOptions = uri.fragment === '' ? {} : { job: uri.fragment };
    const reading = launch ? await readLaunchFile(launch, options) : '';
    if (typeof reading === 'string') {
      return `# ${reading}\n`;
    }
    const { layoutYaml } = await engine();
    // it names no launch file: there is nothing that it could differ from
    return layoutYaml(reading, (file) => relativePath(uri, file), []);
  }

  /** Reads the layouts of a launch file again. One that the editor has closed is opened anew: what draws it takes the new document. */
  async #follow(changed: vscode.Uri): Promise<void> {
    const launch = changed.toString();
    for (const { uri, isClosed } of this.drawn()) {
      if (launchOfLayout(uri)?.toString() === launch) {
        await (isClosed ? vscode.workspace.openTextDocument(uri) : this.#changed.fire(uri));
      }
    }
  }
}
