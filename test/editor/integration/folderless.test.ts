import { strict as assert } from 'node:assert';
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { until } from '../../harness/until';
import { closeAll, codeOf, findings, openFolders, replace, untilFindings } from './editor';

const ID = 'parallelism-layout.parallelism-layout';

/** A file beside that of the workspace, in a folder that is not open. */
const beside = (...path: readonly string[]) =>
  vscode.Uri.joinPath(vscode.workspace.workspaceFile ?? vscode.Uri.file('/'), '..', ...path);

/** The tests in a window without a folder, which is what a workspace is until its folders come. They come at the end. */
export function defineFolderless(): void {
  describe('a window whose folders have not come', () => {
    after(() => openFolders('layouts', 'more'));

    afterEach(closeAll);

    it('does not start the extension for a file that is not a layout', async () => {
      await vscode.window.showTextDocument(beside('layouts', 'plain.yaml'));
      assert.equal(vscode.extensions.getExtension(ID)?.isActive, false);
    });

    it('starts it for a layout, and checks that as it is typed', async () => {
      assert.equal(vscode.workspace.workspaceFolders?.length, 0);
      const editor = await vscode.window.showTextDocument(beside('layouts', 'two-ranks.layout.yaml'));
      await until(() => vscode.extensions.getExtension(ID)?.isActive, Boolean, 'the extension is active');
      await replace(editor, 'tp: 2', 'tp: 3');
      const [finding] = await untilFindings(editor.document.uri, 1);
      assert.equal(finding && codeOf(finding), 'dense-factorization');
    });

    it('makes a new layout in the home of the person', async () => {
      await vscode.commands.executeCommand('parallelismLayout.openSample');
      const uri = vscode.window.activeTextEditor?.document.uri;
      assert.equal(uri?.toString(), `untitled:${homedir()}/mimo-8gpu.layout.yaml`);
    });

    it('makes a layout of a launch file, and compares the two', async () => {
      const script = beside('train.sh');
      const text = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2\n';
      await vscode.workspace.fs.writeFile(script, new TextEncoder().encode(text));
      await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', script);
      const editor = vscode.window.activeTextEditor;
      assert.equal(editor?.document.uri.path, beside('train.layout.yaml').path);
      await replace(editor, 'tp: 2', 'tp: 4');
      const [finding] = await untilFindings(editor.document.uri, 1);
      assert.equal(finding && codeOf(finding), 'launch-drift');
      await vscode.workspace.fs.delete(script);
    });

    it('offers no task, and shows the settings of clusters', async () => {
      assert.deepEqual(await vscode.tasks.fetchTasks({ type: 'parallelism-layout' }), []);
      await vscode.commands.executeCommand('parallelismLayout.configureClusters');
    });

    it('shows what a smoke job would run, and draws the grid', async () => {
      await vscode.window.showTextDocument(beside('layouts', 'two-ranks.layout.yaml'));
      await vscode.commands.executeCommand('parallelismLayout.dryRunSmokeJob', { cluster: 'local', backend: 'gloo' });
      const script = vscode.window.activeTextEditor?.document.getText() ?? '';
      assert.match(script, /^# Dry run of the smoke job of two-ranks on local\. Nothing has run\.$/m);
      await vscode.window.showTextDocument(beside('layouts', 'two-ranks.layout.yaml'));
      await vscode.commands.executeCommand('parallelismLayout.showGrid');
      await until(
        () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ label }) => label)),
        (labels) => labels.some((label) => label.startsWith('Ranks')),
        'the panel is open',
      );
    });
  });

  describe('a window whose folders come', () => {
    it('checks the layouts in them, which are not open', async () => {
      assert.deepEqual(
        vscode.workspace.workspaceFolders?.map(({ name }) => name),
        ['layouts', 'more'],
      );
      await until(
        () => findings(beside('more', 'broken.layout.yaml')).map(codeOf),
        (codes) => codes.includes('missing-key'),
        'a finding',
      );
    });
  });
}
