import { strict as assert } from 'node:assert';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { until } from '../../harness/until';
import { codeOf, findings, folder, replace } from './editor';

interface Found {
  readonly verdict: string;
  readonly culprits: readonly { readonly rank: number }[];
}

const ID = 'parallelism-layout.parallelism-layout';
/** Dumps of real jobs; the extension's folder is the repository here. */
const run = (name: string) =>
  join(vscode.extensions.getExtension(ID)?.extensionPath ?? '', 'test/golden/data/flight', name);

const gridTab = (title: string) =>
  vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .find(({ input, label }) => input instanceof vscode.TabInputWebview && label.includes(title));

const verifyRun = (uri: vscode.Uri, ...paths: readonly string[]) =>
  vscode.commands.executeCommand<Found | undefined>('parallelismLayout.verifyRun', { uri: uri.toString(), paths });

const report = (uri: vscode.Uri) =>
  vscode.workspace.openTextDocument(
    vscode.Uri.from({
      scheme: 'parallelism-layout-run',
      path: `/${uri.path.split('/').at(-1)}.md`,
      query: uri.toString(),
    }),
  );

/** The tests of what a run is found to be. */
export function defineVerify(): void {
  describe('verifying against a run', () => {
    /** A layout of four ranks in a file of its own. */
    async function layout(name: string, parallelism: string): Promise<vscode.TextEditor> {
      const uri = vscode.Uri.joinPath(folder().uri, `${name}.layout.yaml`);
      const text = `layout: 1\nname: ${name}\nworld_size: 4\nparallelism:\n  ${parallelism}\n`;
      await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(text));
      return vscode.window.showTextDocument(uri);
    }

    it('names the rank that hangs it, opens the Run view and writes a report', async () => {
      const { document } = await layout('hung', 'tp: 2');
      const found = await verifyRun(document.uri, run('sleep-tp2dp2-r2'));
      assert.deepEqual([found?.verdict, found?.culprits.map(({ rank }) => rank)], ['hang', [2]]);
      await until(
        () => gridTab('hung'),
        (tab) => tab !== undefined,
        'the grid of the layout is open',
      );
      assert.deepEqual(
        findings(document.uri).filter((one) => codeOf(one) === 'run-groups'),
        [],
      );
      const text = (await report(document.uri)).getText();
      assert.match(text, /^# Run of hung/);
      assert.match(text, /[Rr]ank 2/);
    });

    it('shows groups that differ on the line that would give them, until the text changes', async () => {
      const editor = await layout('mapped', 'pp: 2');
      const { uri } = editor.document;
      const found = await verifyRun(uri, run('mapping-pp2dp2'));
      assert.equal(found?.verdict, 'wrong-groups');
      const shown = () => findings(uri).filter((one) => codeOf(one) === 'run-groups');
      assert.deepEqual(
        shown().map(({ range }) => range.start.line),
        [3, 3],
      );
      assert.match(shown()[0]?.message ?? '', /These are the groups of order tp-cp-ep-pp-dp\.$/);
      await replace(editor, 'pp: 2', 'pp: 2\n  order: tp-cp-ep-pp-dp');
      await until(shown, (rest) => rest.length === 0, 'the diagnostics of the old text are gone');
      assert.ok(await editor.document.save());
      assert.equal((await verifyRun(uri, run('mapping-pp2dp2')))?.verdict, 'healthy');
    });

    it('verifies the log that is in the clipboard, and leaves no file of it', async () => {
      const { document } = await layout('pasted', 'tp: 2');
      const log = await readFile(join(run('sleep-tp2dp2-r2'), 'log.txt'), 'utf8');
      await vscode.env.clipboard.writeText(log);
      const before = await readdir(tmpdir());
      const found = await vscode.commands.executeCommand<Found | undefined>('parallelismLayout.verifyPastedLog', {
        uri: document.uri.toString(),
      });
      assert.deepEqual([found?.verdict, found?.culprits.map(({ rank }) => rank)], ['hang', [2]]);
      const left = (await readdir(tmpdir())).filter((name) => !before.includes(name));
      assert.deepEqual(
        left.filter((name) => name.startsWith('parallelism-layout-log-')),
        [],
      );
    });

    it('finds nothing where no file is of a run', async () => {
      const { document } = await layout('none', 'tp: 2');
      assert.equal(await verifyRun(document.uri, document.uri.fsPath), undefined);
    });
  });
}
