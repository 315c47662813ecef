import { strict as assert } from 'node:assert';
import * as vscode from 'vscode';
import { codeOf, findings, open, replace, revert, until } from './editor';

const ID = 'parallelism-layout.parallelism-layout';

/** The tests in a workspace that is trusted. */
export function defineTrusted(): void {
  describe('the extension', () => {
    it('does not start for a file that is not a layout', async () => {
      await open('plain.yaml');
      assert.equal(vscode.extensions.getExtension(ID)?.isActive, false);
    });

    it('starts when a layout is opened, and finds nothing wrong with the example', async () => {
      const { document } = await open('mimo-8gpu.layout.yaml');
      assert.equal(document.languageId, 'parallelism-layout');
      await until(() => vscode.extensions.getExtension(ID)?.isActive, Boolean, 'the extension is active');
      // an empty list says nothing before the server has looked; it looks at files in the order in which they are opened
      const wrong = await vscode.workspace.openTextDocument({
        language: 'parallelism-layout',
        content: 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n',
      });
      await until(
        () => findings(wrong.uri),
        ({ length }) => length > 0,
        'the wrong file has a finding',
      );
      assert.deepEqual(findings(document.uri), []);
    });

    it('underlines the wrong number, says what Megatron-LM would, and clears when it is mended', async () => {
      const editor = await open('mimo-8gpu.layout.yaml');
      const { uri } = editor.document;
      await replace(editor, 'pp: 2', 'pp: 3');
      const [finding] = await until(
        () => findings(uri),
        ({ length }) => length === 1,
        'one finding',
      );
      assert.ok(finding);
      assert.equal(codeOf(finding), 'dense-factorization');
      assert.equal(editor.document.getText(finding.range), '3');
      assert.match(finding.message, /Megatron-LM: num_ranks \(4\) must be divisible by tp\*gtp_remat\*cp\*pp \(6\)/);
      await replace(editor, 'pp: 3', 'pp: 2');
      await until(
        () => findings(uri),
        ({ length }) => length === 0,
        'no finding',
      );
      await revert(editor);
    });

    it('mends by a quick fix, which one undo takes back', async () => {
      const editor = await open('mimo-8gpu.layout.yaml');
      const { uri } = editor.document;
      const before = editor.document.getText();
      await replace(editor, 'rank_offset: 4', 'rank_offset: 6');
      const broken = editor.document.getText();
      const [finding] = await until(
        () => findings(uri),
        ({ length }) => length === 1,
        'one finding',
      );
      assert.ok(finding);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        'vscode.executeCodeActionProvider',
        uri,
        finding.range,
      );
      const preferred = actions.find(({ isPreferred }) => isPreferred);
      assert.ok(preferred?.edit, 'a preferred fix');
      await vscode.workspace.applyEdit(preferred.edit);
      await until(
        () => findings(uri),
        ({ length }) => length === 0,
        'no finding',
      );
      assert.equal(editor.document.getText(), before);
      await vscode.commands.executeCommand('undo');
      assert.equal(editor.document.getText(), broken);
      await revert(editor);
    });

    it('shows derived values on hover', async () => {
      const { document } = await open('mimo-8gpu.layout.yaml');
      const at = document.positionAt(document.getText().lastIndexOf('tp: 2'));
      const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
        'vscode.executeHoverProvider',
        document.uri,
        at,
      );
      const text = hovers
        .flatMap(({ contents }) => contents.map((content) => (typeof content === 'string' ? content : content.value)))
        .join('\n');
      assert.match(text, /--tensor-model-parallel-size/);
      assert.match(text, /dp 1/);
    });

    it('completes keys', async () => {
      const editor = await open('mimo-8gpu.layout.yaml');
      await replace(editor, '    pp: 2\n', '    pp: 2\n    \n');
      const { document } = editor;
      const at = document.positionAt(document.getText().indexOf('    pp: 2\n    ') + '    pp: 2\n    '.length);
      const list = await vscode.commands.executeCommand<vscode.CompletionList>(
        'vscode.executeCompletionItemProvider',
        document.uri,
        at,
      );
      const labels = list.items.map(({ label }) => (typeof label === 'string' ? label : label.label));
      assert.ok(labels.includes('ep'), labels.join());
      assert.ok(!labels.includes('num_ranks'), labels.join());
      await revert(editor);
    });

    it('survives a restart of the language server', async () => {
      const editor = await open('mimo-8gpu.layout.yaml');
      await vscode.commands.executeCommand('parallelismLayout.restartServer');
      await replace(editor, 'world_size: 8', 'world_size: 9');
      await until(
        () => findings(editor.document.uri),
        ({ length }) => length === 1,
        'one finding',
      );
      await revert(editor);
    });

    it('opens the rank grid of a layout', async () => {
      await open('mimo-8gpu.layout.yaml');
      await vscode.commands.executeCommand('parallelismLayout.showGrid');
      const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
      const tab = await until(
        () => tabs().find(({ label }) => label.includes('mimo-8gpu') && label.startsWith('Ranks')),
        (found) => found !== undefined,
        'the panel is open',
      );
      assert.ok(tab);
      await vscode.window.tabGroups.close(tab);
    });

    it('offers a task that checks all layouts of the folder', async () => {
      const tasks = await vscode.tasks.fetchTasks({ type: 'parallelism-layout' });
      const task = tasks.find(({ name }) => name === 'check all layouts');
      assert.ok(task, tasks.map(({ name }) => name).join());
      const ended = new Promise<number | undefined>((done) => {
        const listener = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
          if (execution.task.name === task.name) {
            listener.dispose();
            done(exitCode);
          }
        });
      });
      await vscode.tasks.executeTask(task);
      assert.equal(await ended, 0);
    });

    it('runs the smoke job on this machine and says that it passed', async function () {
      this.timeout(180_000);
      await open('two-ranks.layout.yaml');
      const result = await vscode.commands.executeCommand<{ ok: boolean; verdict: string; groups: unknown[] }>(
        'parallelismLayout.runSmokeJob',
      );
      assert.deepEqual({ ok: result.ok, verdict: result.verdict }, { ok: true, verdict: 'ok' });
      assert.ok(result.groups.length >= 5, String(result.groups.length));
    });
  });
}
