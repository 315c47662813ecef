import { strict as assert } from 'node:assert';
import * as vscode from 'vscode';
import { until } from '../../harness/until';
import { ask, codeOf, findings, folder, open, untilFindings } from './editor';
import { MemoryFiles } from './memoryFiles';

const ID = 'parallelism-layout.parallelism-layout';

/** The tests in a browser, where there is no Node and no file on a disk. */
export function defineWeb(): void {
  describe('in the web', () => {
    it('runs in a worker of the browser', async () => {
      await open('mimo-8gpu.layout.yaml');
      await until(() => vscode.extensions.getExtension(ID)?.isActive, Boolean, 'the extension is active');
      assert.ok('importScripts' in globalThis);
      assert.equal(vscode.env.uiKind, vscode.UIKind.Web);
    });

    it('offers nothing that would start a process', async () => {
      const commands = await vscode.commands.getCommands(true);
      assert.ok(commands.includes('parallelismLayout.showGrid'));
      assert.ok(!commands.includes('parallelismLayout.runSmokeJob'));
      const script = vscode.Uri.joinPath(folder().uri, 'train.sh');
      assert.equal(await vscode.commands.executeCommand('parallelismLayout.runLaunchScript', script), undefined);
      const { document } = await open('two-ranks.layout.yaml');
      const lenses = async () => {
        const found = await ask<vscode.CodeLens[]>('CodeLens', document.uri, 100);
        return found.map(({ command }) => command?.title ?? '');
      };
      const titles = await until(lenses, ({ length }) => length > 0, 'lenses');
      assert.ok(titles.includes('Show Rank Grid'), titles.join('; '));
      assert.ok(!titles.includes('Run Smoke Job'), titles.join('; '));
    });

    it('checks files of a virtual file system', async () => {
      const files = new MemoryFiles();
      const uri = vscode.Uri.from({ scheme: 'memory', path: '/jobs/broken.layout.yaml' });
      files.write(uri, 'layout: 1\nworld_size: 8\ncluster: {nodes: 1, gpus_per_node: 8}\nparallelism: {tp: 3}\n');
      const registered = vscode.workspace.registerFileSystemProvider('memory', files);
      try {
        const editor = await vscode.window.showTextDocument(uri);
        const [finding] = await untilFindings(uri);
        assert.equal(finding && codeOf(finding), 'dense-factorization');
        await editor.edit((edit) => edit.replace(new vscode.Range(3, 18, 3, 19), '4'));
        await untilFindings(uri, 0);
        assert.ok(await editor.document.save());
        assert.match(files.read(uri), /tp: 4/);
      } finally {
        registered.dispose();
      }
    });

    it('checks layouts that are not open', async () => {
      const uri = vscode.Uri.joinPath(folder().uri, 'unopened.layout.yaml');
      await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode('layout: 1\nworld_size: 8\n'));
      try {
        await vscode.commands.executeCommand('parallelismLayout.restartServer');
        await until(
          () => findings(uri).map(codeOf).join(),
          (codes) => codes === 'missing-key',
          'a finding',
        );
        await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode('layout: 2\n'));
        await until(
          () => findings(uri).map(codeOf).join(),
          (codes) => codes.includes('unsupported-version'),
          'the findings of what it says now',
        );
      } finally {
        await vscode.workspace.fs.delete(uri);
      }
      await untilFindings(uri, 0);
    });

    it('survives a restart of the language server', async () => {
      const { document } = await open('mimo-8gpu.layout.yaml');
      await vscode.commands.executeCommand('parallelismLayout.restartServer');
      const at = document.positionAt(document.getText().indexOf('tp: 2'));
      const hovers = await until(
        () => ask<vscode.Hover[]>('Hover', document.uri, at),
        ({ length }) => length > 0,
        'a hover',
      );
      assert.equal(hovers.length, 1);
    });
  });
}
