import { strict as assert } from 'node:assert';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { processesWith } from '../../harness/processes';
import { until } from '../../harness/until';
import { ask, codeOf, folder, open, replace, revert, untilFindings } from './editor';

const ID = 'parallelism-layout.parallelism-layout';
const LAYOUT = 'two-ranks.layout.yaml';
const ON_CPU = { cluster: 'local', backend: 'gloo' };

interface Result {
  readonly ok: boolean;
  readonly verdict: string;
}

const extensionPath = () => vscode.extensions.getExtension(ID)?.extensionPath ?? '';
const run = (options: object = ON_CPU) =>
  vscode.commands.executeCommand<Result | undefined>('parallelismLayout.runSmokeJob', options);
const isFailure = (finding: vscode.Diagnostic) => String(codeOf(finding)).startsWith('smoke-');
const untilFailures = (uri: vscode.Uri, count: number) => untilFindings(uri, count, isFailure);

/** Waits for a lens above a layout that says something. */
async function lens(uri: vscode.Uri, text: RegExp): Promise<void> {
  await until(
    async () => (await ask<vscode.CodeLens[]>('CodeLens', uri)).map(({ command }) => command?.title ?? ''),
    (titles) => titles.some((title) => text.test(title)),
    `a lens says ${text}`,
  );
}

/** The tests of smoke jobs on this machine. */
export function defineSmoke(): void {
  describe('a smoke job', function () {
    this.timeout(180_000);

    const { TMPDIR } = process.env;
    /** Where the runs of these tests have their folders: jobs of other tests run the same script at the same time. */
    let runs: string;

    before(() => {
      runs = mkdtempSync(join(tmpdir(), 'parallelism-layout-runs-'));
      process.env.TMPDIR = runs;
    });

    after(() => {
      if (TMPDIR === undefined) {
        delete process.env.TMPDIR;
      } else {
        process.env.TMPDIR = TMPDIR;
      }
      rmSync(runs, { recursive: true, force: true });
    });

    /** Processes of a smoke job that these tests started. */
    const jobProcesses = () => processesWith('smoke_job.py', runs);

    it('shows in a dry run the very script that would run, and runs nothing', async () => {
      await open(LAYOUT);
      await vscode.commands.executeCommand('parallelismLayout.dryRunSmokeJob', ON_CPU);
      const document = vscode.window.activeTextEditor?.document;
      assert.ok(document?.isUntitled);
      assert.equal(document.languageId, 'shellscript');
      assert.match(document.getText(), /^# Dry run of the smoke job of two-ranks on local\. Nothing has run\.$/m);
      assert.match(document.getText(), /^ {2}"world_size": 2,$/m);
      assert.match(document.getText(), /smoke_job\.py referee[\s\\]+--own-folder[\s\\]+--plan plan\.json/);
      assert.deepEqual(jobProcesses(), []);
      await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    });

    it('passes on this machine, and says so above the file and in its report', async () => {
      const { document } = await open(LAYOUT);
      const result = await run();
      assert.deepEqual({ ok: result?.ok, verdict: result?.verdict }, { ok: true, verdict: 'ok' });
      await lens(document.uri, /Smoke job passed on local/);
      await vscode.commands.executeCommand('parallelismLayout.copySmokeReport');
      const report = await vscode.env.clipboard.readText();
      assert.match(report, /^# Smoke job of two-ranks: passed$/m);
      assert.match(report, /^\| tp +\| 1 x 2 +\| ok +\|/m);
      await vscode.commands.executeCommand('parallelismLayout.showSmokeReport');
      assert.equal(vscode.window.activeTextEditor?.document.getText(), report);
      assert.equal(vscode.window.activeTextEditor?.document.languageId, 'markdown');
    });

    it('that fails is a finding on the line that the group comes from, until the layout changes', async () => {
      const editor = await open(LAYOUT);
      const { uri } = editor.document;
      const settings = vscode.workspace.getConfiguration('parallelismLayout');
      const python = join(extensionPath(), 'test', 'fixtures', 'faulty-python');
      await settings.update('python', python, vscode.ConfigurationTarget.Global);
      try {
        const result = await run();
        assert.equal(result?.verdict, 'rank_lost');
      } finally {
        await settings.update('python', undefined, vscode.ConfigurationTarget.Global);
      }
      const [finding] = await untilFailures(uri, 1);
      assert.ok(finding);
      assert.equal(codeOf(finding), 'smoke-rank-lost');
      assert.equal(editor.document.getText(finding.range), 'tp: 2');
      assert.match(finding.message, /Rank 1 /);
      const related = finding.relatedInformation?.map(({ message }) => message).join('\n') ?? '';
      assert.match(related, /the fault is in tp, group 0: ranks 0, 1/);
      assert.match(related, /rank 1 is also in mp, group 0/);
      await lens(uri, /Smoke job failed: rank lost on local/);

      await vscode.window.showTextDocument(editor.document);
      await replace(editor, 'world_size: 2', 'world_size: 4');
      await untilFailures(uri, 0);
      await lens(uri, /before the last change/);
      await revert(editor);
      await untilFailures(uri, 1);
    });

    it('runs again, and its pass takes the finding away', async () => {
      const { document } = await open(LAYOUT);
      const result = await vscode.commands.executeCommand<Result>('parallelismLayout.rerunSmokeJob');
      assert.equal(result.verdict, 'ok');
      await untilFailures(document.uri, 0);
    });

    it('runs once at a time for each layout, and leaves no process when it is cancelled', async () => {
      const { document } = await open(LAYOUT);
      const running = run();
      await lens(document.uri, /Smoke job on local: cancel/);
      assert.equal(await run(), undefined);
      await until(jobProcesses, ({ length }) => length > 2, 'the ranks are up');
      await vscode.commands.executeCommand('parallelismLayout.cancelSmokeJob');
      assert.equal((await running)?.verdict, 'cancelled');
      assert.deepEqual([...jobProcesses(), ...readdirSync(runs)], []);
      await lens(document.uri, /Smoke job cancelled on local/);
    });
  });

  describe('a task of tasks.json', function () {
    this.timeout(180_000);
    /** Runs a task by its label, as a person does, and gives its exit status. */
    async function execute(label: string): Promise<number | undefined> {
      const ended = new Promise<number | undefined>((done) => {
        const listener = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
          if (execution.task.name === label) {
            listener.dispose();
            done(exitCode);
          }
        });
      });
      const task = (await vscode.tasks.fetchTasks({ type: 'parallelism-layout' })).find(({ name }) => name === label);
      assert.ok(task, label);
      await vscode.tasks.executeTask(task);
      return ended;
    }

    /** What the problem matcher made of a task's output: the server's own findings have a page behind their code. */
    const reported = (uri: vscode.Uri) =>
      vscode.languages
        .getDiagnostics(uri)
        .filter(({ code, source }) => source === 'parallelism-layout' && typeof code === 'string');

    /**
     * What the matcher lists once the task has ended. It runs again where nothing is listed: on a loaded machine the editor may
     * attach its matcher after a short task has ended.
     */
    const listed = (uri: vscode.Uri, status: number) => {
      const some = ({ length }: readonly unknown[]) => length > 0;
      const what = 'the matcher lists what the task found';
      const once = async () => {
        assert.equal(await execute('check this file'), status);
        return until(() => reported(uri), some, what, 10);
      };
      return until(once, some, what);
    };

    it('checks the file of the active editor, and its findings are listed', async () => {
      const text = 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 3\n';
      const uri = vscode.Uri.joinPath(folder().uri, 'wrong.layout.yaml');
      await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(text));
      await vscode.window.showTextDocument(uri);
      const [finding] = await listed(uri, 1);
      assert.equal(finding?.code, 'dense-factorization');
      assert.deepEqual(finding.range.start, new vscode.Position(3, 6));
      assert.equal(finding.severity, vscode.DiagnosticSeverity.Error);
      await vscode.workspace.fs.delete(uri);
    });

    it('lists information as information, not as an error', async () => {
      const { document } = await open('ntp-4gpu.layout.yaml');
      const [finding] = await listed(document.uri, 0);
      assert.deepEqual([finding?.code, finding?.severity], ['ntp-cost', vscode.DiagnosticSeverity.Information]);
    });

    it('runs the smoke job of the file of the active editor', async () => {
      const { document } = await open(LAYOUT);
      assert.equal(await execute('smoke this file'), 0);
      assert.deepEqual(reported(document.uri), []);
    });

    it('lists the fault of a smoke job', async () => {
      const { document } = await open(LAYOUT);
      const settings = vscode.workspace.getConfiguration('parallelismLayout');
      const python = join(extensionPath(), 'test', 'fixtures', 'faulty-python');
      await settings.update('python', python, vscode.ConfigurationTarget.Global);
      try {
        assert.equal(await execute('smoke this file'), 1);
      } finally {
        await settings.update('python', undefined, vscode.ConfigurationTarget.Global);
      }
      const [finding] = await until(
        () => reported(document.uri),
        ({ length }) => length > 0,
        'the matcher lists the fault',
      );
      assert.equal(finding?.code, 'smoke-rank-lost');
      assert.equal(finding?.range.start.line, 5);
    });
  });
}
