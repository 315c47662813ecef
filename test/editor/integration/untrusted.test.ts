import { strict as assert } from 'node:assert';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { until } from '../../harness/until';
import { codeOf, findings, folder, open, replace, revert, untilFindings } from './editor';

/** The tests in a workspace that nobody has trusted: everything works but what starts processes. */
export function defineUntrusted(): void {
  describe('in a workspace that is not trusted', () => {
    it('opens without trust', () => {
      assert.equal(vscode.workspace.isTrusted, false);
    });

    it('checks a layout as it is typed', async () => {
      const editor = await open('mimo-8gpu.layout.yaml');
      await replace(editor, 'rank_offset: 4', 'rank_offset: 6');
      const [finding] = await untilFindings(editor.document.uri, 1);
      assert.equal(finding && codeOf(finding), 'world-overflow');
      await revert(editor);
    });

    it('makes a layout of a launch file, and compares them, as nothing of it is run', async () => {
      const script = vscode.Uri.joinPath(folder().uri, 'train.sh');
      const text = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 $(touch was-run)\n';
      await vscode.workspace.fs.writeFile(script, new TextEncoder().encode(text));
      try {
        await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', script);
        const editor = vscode.window.activeTextEditor;
        assert.ok(editor);
        await replace(editor, 'tp: 2', 'tp: 4');
        await until(
          () => findings(editor.document.uri).map(codeOf),
          (codes) => codes.includes('launch-drift'),
          'a difference',
        );
        await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
        await assert.rejects(async () => vscode.workspace.fs.stat(vscode.Uri.joinPath(folder().uri, 'was-run')));
      } finally {
        await vscode.workspace.fs.delete(script);
      }
    });

    it('draws the rank grid', async () => {
      await open('mimo-8gpu.layout.yaml');
      await vscode.commands.executeCommand('parallelismLayout.showGrid');
      await until(
        () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ label }) => label)),
        (labels) => labels.some((label) => label.startsWith('Ranks')),
        'the panel is open',
      );
    });

    it('refuses every command that starts a process before it does', async () => {
      const programs = mkdtempSync(join(tmpdir(), 'parallelism-layout-python-'));
      const python = join(programs, 'python');
      const trace = join(programs, 'was-run');
      writeFileSync(python, `#!/bin/sh\ntouch '${trace}'\nexit 1\n`);
      chmodSync(python, 0o755);
      const settings = vscode.workspace.getConfiguration('parallelismLayout');
      try {
        await settings.update('python', python, vscode.ConfigurationTarget.Global);
        await open('two-ranks.layout.yaml');
        const offered = async () =>
          (await vscode.commands.getCommands(true)).filter((id) =>
            /^parallelismLayout\.(?:.*Smoke(?:Job|Fault)|verifyRun$|verifyPastedLog$|runLaunchScript$)/.test(id),
          );
        const commands = await until(offered, ({ length }) => length >= 5, 'the commands that start processes');
        for (const command of commands) {
          const options = { cluster: 'local', backend: 'gloo' };
          assert.equal(await vscode.commands.executeCommand(command, options), undefined, command);
        }
        assert.ok(!existsSync(trace), 'the interpreter was started');
      } finally {
        await settings.update('python', undefined, vscode.ConfigurationTarget.Global);
        rmSync(programs, { recursive: true });
      }
    });
  });
}
