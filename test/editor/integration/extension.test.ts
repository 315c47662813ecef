import { strict as assert } from 'node:assert';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as vscode from 'vscode';
import { until } from '../../harness/until';
import { findings, open, replace, revert, untilFindings } from './editor';

/** The memory of this process in bytes, once its garbage is gone. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

/** The tests in a workspace that is trusted. */
export function defineTrusted(): void {
  describe('the extension', () => {
    it('finds nothing wrong with the example', async () => {
      const { document } = await open('mimo-8gpu.layout.yaml');
      assert.equal(document.languageId, 'parallelism-layout');
      // an empty list says nothing before the server has looked; it looks at files in the order in which they are opened
      const wrong = await vscode.workspace.openTextDocument({
        language: 'parallelism-layout',
        content: 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n',
      });
      await untilFindings(wrong.uri);
      assert.deepEqual(findings(document.uri), []);
    });

    it('survives a restart of the language server', async () => {
      const editor = await open('mimo-8gpu.layout.yaml');
      await vscode.commands.executeCommand('parallelismLayout.restartServer');
      await replace(editor, 'world_size: 8', 'world_size: 9');
      await untilFindings(editor.document.uri, 1);
      await revert(editor);
    });

    it('leaves nothing behind when the rank grid is opened and closed again and again', async function () {
      this.timeout(180_000);
      await open('mimo-8gpu.layout.yaml');
      const grids = () =>
        vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).filter(({ label }) => label.startsWith('Ranks'));
      const cycle = async () => {
        await vscode.commands.executeCommand('parallelismLayout.showGrid');
        await until(grids, ({ length }) => length === 1, 'the grid is open');
        await vscode.window.tabGroups.close(grids());
        await until(grids, ({ length }) => length === 0, 'the grid is closed');
      };
      const cycles = async (count: number) => {
        for (let i = 0; i < count; i++) {
          await cycle();
        }
        return heapInUse();
      };
      const before = await cycles(5);
      const after = await cycles(15);
      assert.ok(after - before < 1_000_000, `${before} bytes before, ${after} after`);
    });

    it('offers a task that checks all layouts, for each folder of the workspace', async () => {
      assert.equal(vscode.workspace.workspaceFolders?.length, 2);
      const tasks = await vscode.tasks.fetchTasks({ type: 'parallelism-layout' });
      assert.equal(await exitCodeIn(tasks, 'layouts'), 0);
      assert.equal(await exitCodeIn(tasks, 'more'), 1);
    });
  });
}

/** Runs the task that checks a folder of the workspace; gives its exit code. */
async function exitCodeIn(tasks: readonly vscode.Task[], folder: string): Promise<number | undefined> {
  const inFolder = ({ scope }: vscode.Task) => typeof scope === 'object' && scope.name === folder;
  const task = tasks.find((one) => one.name === 'check all layouts' && inFolder(one));
  assert.ok(task, tasks.map(({ name }) => name).join());
  const ended = new Promise<number | undefined>((done) => {
    const listener = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
      if (execution.task.name === task.name && inFolder(execution.task)) {
        listener.dispose();
        done(exitCode);
      }
    });
  });
  await vscode.tasks.executeTask(task);
  return ended;
}
