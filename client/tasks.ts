import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { clustersOfSettings } from './jobs/clusterSettings';
import { layoutFiles } from './layoutDocument';

const TYPE = 'parallelism-layout';

/** A task of `tasks.json`. */
interface LayoutTask extends vscode.TaskDefinition {
  readonly task: 'check' | 'smoke';
  readonly file?: string;
  readonly cluster?: string;
  readonly backend?: string;
}

/** Offers to check all layouts of a workspace folder, and runs the tasks that `tasks.json` names. */
export class LayoutTasks implements vscode.TaskProvider {
  /**
   * @param cli the command line's bundle, run by the editor's own Node
   * @param storage a folder where the command line finds the clusters of the settings
   */
  constructor(
    readonly cli: vscode.Uri,
    readonly storage: vscode.Uri,
  ) {}

  async provideTasks(): Promise<vscode.Task[]> {
    const tasks = await Promise.all((vscode.workspace.workspaceFolders ?? []).map((folder) => this.#checkAll(folder)));
    return tasks.filter((task) => task !== undefined);
  }

  /** The task that checks all layouts of a folder; undefined where there is none, or none on a disk. */
  async #checkAll(folder: vscode.WorkspaceFolder): Promise<vscode.Task | undefined> {
    const files = await layoutFiles(folder);
    if (files.length === 0 || folder.uri.scheme !== 'file') {
      return undefined;
    }
    const paths = files.map((file) => vscode.workspace.asRelativePath(file, false)).sort();
    return this.#task({ type: TYPE, task: 'check' }, folder, 'check all layouts', ['check', '--', ...paths]);
  }

  async resolveTask(task: vscode.Task): Promise<vscode.Task | undefined> {
    const definition = task.definition as LayoutTask;
    const scope = task.scope ?? vscode.TaskScope.Workspace;
    if (definition.file === undefined) {
      return definition.task === 'check' && typeof scope === 'object' ? this.#checkAll(scope) : undefined;
    }
    const arguments_ =
      definition.task === 'smoke'
        ? [
            ...['smoke', '--clusters', await this.#clusterFile(), '--cluster', definition.cluster ?? 'local'],
            ...(definition.backend === undefined ? [] : ['--backend', definition.backend]),
            ...['--', definition.file],
          ]
        : ['check', '--', definition.file];
    return this.#task(definition, scope, task.name, arguments_);
  }

  /** The clusters of the settings as a file for the command line. */
  async #clusterFile(): Promise<string> {
    const path = join(this.storage.fsPath, 'clusters.json');
    await mkdir(this.storage.fsPath, { recursive: true });
    await writeFile(path, JSON.stringify({ clusters: clustersOfSettings() }), { mode: 0o600 });
    return path;
  }

  #task(
    definition: LayoutTask,
    scope: vscode.WorkspaceFolder | vscode.TaskScope,
    name: string,
    arguments_: readonly string[],
  ): vscode.Task {
    const execution = new vscode.ProcessExecution(process.execPath, [this.cli.fsPath, ...arguments_], {
      // Node would take modules that NODE_OPTIONS names from the workspace's folder
      env: { ELECTRON_RUN_AS_NODE: '1', NODE_OPTIONS: '' },
    });
    const task = new vscode.Task(definition, scope, name, 'Parallelism Layout', execution, '$parallelism-layout');
    task.group = definition.task === 'check' ? vscode.TaskGroup.Build : vscode.TaskGroup.Test;
    return task;
  }
}
