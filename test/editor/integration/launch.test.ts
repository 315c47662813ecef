import { strict as assert } from 'node:assert';
import * as vscode from 'vscode';
import { dropEdits } from '../../../client/launch/transfer';
import { until } from '../../harness/until';
import { ask, closeAll, codeOf, findings, newFolder, place, replace, untilEnded, untilFindings } from './editor';
import { MemoryFiles } from './memoryFiles';

const LAYOUT = `layout: 1
world_size: 16
launch: {family: megatron-lm, files: [train.sh]}
parallelism:
  tp: 4
  pp: 2
`;

const SCRIPT = `TP=8
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \\
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2
`;

/** The folder of a test. */
let home: vscode.Uri;

const here = (name: string) => vscode.Uri.joinPath(home, name);
const open = (name: string) => vscode.window.showTextDocument(here(name));
const put = (name: string, text: string) => vscode.workspace.fs.writeFile(here(name), new TextEncoder().encode(text));
const isDrift = (finding: vscode.Diagnostic) => codeOf(finding) === 'launch-drift';
const untilDrift = (uri: vscode.Uri, count: number) => untilFindings(uri, count, isDrift);

/** The names of documents beside the launch files that are nowhere saved. */
const unsaved = () =>
  vscode.workspace.textDocuments
    .filter(({ uri, isClosed }) => uri.scheme === 'untitled' && uri.path.startsWith(`${home.path}/`) && !isClosed)
    .map(({ uri }) => uri.path.split('/').at(-1))
    .sort()
    .join(', ');

const lenses = async (uri: vscode.Uri) => {
  const found = await ask<vscode.CodeLens[]>('CodeLens', uri, 100);
  return found.map(({ command }) => command?.title ?? '');
};

/** Runs a command that asks something, and gives the same answers until the command ends. */
async function answering(
  answers: string | readonly string[],
  command: string,
  ...arguments_: unknown[]
): Promise<void> {
  const give = async () => {
    for (const answer of [answers].flat()) {
      await vscode.commands.executeCommand(answer);
    }
  };
  await untilEnded(vscode.commands.executeCommand(command, ...arguments_), give, command);
}

/** The edits of a drop, for which the editor has no command: the end-to-end tests drop a file. */
function dropped(document: vscode.TextDocument, lines: readonly (string | vscode.Uri)[]) {
  const data = new vscode.DataTransfer();
  data.set('text/uri-list', new vscode.DataTransferItem(lines.join('\r\n')));
  return dropEdits(document, data, new vscode.CancellationTokenSource().token);
}

async function apply(edit: vscode.DocumentDropEdit | undefined): Promise<void> {
  assert.ok(edit?.additionalEdit);
  assert.ok(await vscode.workspace.applyEdit(edit.additionalEdit));
}

const ACCEPT = 'workbench.action.acceptSelectedQuickOpenItem';
const CANCEL = 'workbench.action.closeQuickOpen';
const DISMISS = 'notifications.clearAll';

/** Layouts and launch files: the same on a machine and in a browser. */
export function defineLaunch(): void {
  describe('launch files', () => {
    beforeEach(async () => {
      home = newFolder('launch');
      await put('job.layout.yaml', LAYOUT);
      await put('train.sh', SCRIPT);
      await put('notes.sh', 'echo hello\n');
    });

    afterEach(async () => {
      await closeAll();
      await vscode.workspace.fs.delete(home, { recursive: true });
    });

    it('shows a difference on both files, and a fix of the script ends it', async () => {
      const script = await open('train.sh');
      const layout = await open('job.layout.yaml');
      const [onLayout] = await untilDrift(layout.document.uri, 1);
      assert.equal(onLayout?.message, 'train.sh says tp 8 (TP, line 1); this layout says tp 4.');
      const [onScript] = await untilDrift(script.document.uri, 1);
      assert.ok(onScript);
      assert.equal(onScript.message, 'job.layout.yaml says tp 4 (line 5); this file says tp 8.');
      assert.equal(script.document.getText(onScript.range), '8');
      assert.ok((await lenses(layout.document.uri)).includes('1 difference from train.sh'));
      const actions = await until(
        () => ask<vscode.CodeAction[]>('CodeAction', script.document.uri, onScript.range),
        (found) => found.some(({ title }) => title.startsWith('Change tp')),
        'fixes on the script',
      );
      const fix = actions.find(({ title }) => title === 'Change tp to 4 in train.sh, line 1');
      assert.ok(fix?.edit, actions.map(({ title }) => title).join('; '));
      await vscode.workspace.applyEdit(fix.edit);
      assert.match(script.document.getText(), /^TP=4\n/);
      // the script is not saved: what its editor says counts
      await untilDrift(layout.document.uri, 0);
      await untilDrift(script.document.uri, 0);
      await until(
        () => lenses(layout.document.uri),
        (titles) => titles.includes('matches train.sh'),
        'the lens that says so',
      );
    });

    it('follows a launch file that changes on the disk', async () => {
      const { document } = await open('job.layout.yaml');
      await untilDrift(document.uri, 1);
      await put('train.sh', SCRIPT.replace('TP=8', 'TP=4'));
      await untilDrift(document.uri, 0);
    });

    it('makes a layout beside its launch file, which it matches', async () => {
      await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', here('train.sh'));
      const document = vscode.window.activeTextEditor?.document;
      assert.ok(document);
      assert.equal(document.uri.scheme, 'untitled');
      assert.equal(document.uri.path, here('train.layout.yaml').path);
      assert.equal(document.languageId, 'parallelism-layout');
      assert.match(document.getText(), /^ {2}tp: 8 +# train.sh:1$/m);
      assert.match(document.getText(), /^ {2}files: \[ ?train.sh ?\]$/m);
      await until(
        () => lenses(document.uri),
        (titles) => titles.some((title) => title.startsWith('matches train.sh')),
        'a lens',
      );
      assert.deepEqual(findings(document.uri).map(codeOf), []);
    });

    it('makes a layout of each of several launch files, under names that are free', async () => {
      await put('other.sh', SCRIPT.replace('TP=8', 'TP=2'));
      await put('train.layout.yaml', LAYOUT);
      const uris = [here('train.sh'), here('notes.sh'), here('other.sh')];
      await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', uris[0], uris);
      await until(unsaved, (names) => names === 'other.layout.yaml, train-2.layout.yaml', 'two layouts');
    });

    it('asks which job of a script with several is meant', async () => {
      const start = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size';
      await put('several.sh', `${start} 2\n${start} 4\n`);
      await answering(ACCEPT, 'parallelismLayout.importLaunchFile', here('several.sh'));
      const text = vscode.window.activeTextEditor?.document.getText() ?? '';
      assert.match(text, /^# This is job 1 of 2\.$/m);
      assert.match(text, /^ {2}tp: 2 +# several.sh:1$/m);
    });

    it('makes a layout of a dropped launch file where the text is empty, and names it in another', async () => {
      await put('empty.layout.yaml', '\n');
      const titles = (edits: readonly vscode.DocumentDropEdit[]) => edits.map(({ title }) => title);
      const empty = (await open('empty.layout.yaml')).document;
      const [write, ...none] = await dropped(empty, ['# a comment of the list', here('train.sh'), here('notes.sh')]);
      assert.deepEqual(titles(none), []);
      await apply(write);
      assert.match(empty.getText(), /^ {2}files: \[train.sh\]\n(?:.*\n)* {2}tp: 8 +# train.sh:1$/m);
      await put('bare.layout.yaml', LAYOUT.replace(/^launch.*\n/m, ''));
      const bare = (await open('bare.layout.yaml')).document;
      const edits = await dropped(bare, [here('train.sh')]);
      assert.deepEqual(titles(edits), ['Compare with Launch File', 'Replace with Layout of Launch File']);
      await apply(edits[0]);
      assert.match(bare.getText(), /^launch: .*\[train.sh\].*\n(?:.*\n)* {2}tp: 4$/m);
      const [again] = await dropped(bare, [here('train.sh')]);
      assert.equal(again?.title, 'Compare with Launch File');
      const before = bare.getText();
      await apply(again);
      assert.equal(bare.getText(), before);
      assert.deepEqual(titles(await dropped(bare, [here('notes.sh')])), []);
    });

    it('makes nothing of a file that starts no job, of one that is missing, or where no file is chosen', async () => {
      await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', here('notes.sh'));
      await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', here('missing.sh'));
      await answering(CANCEL, 'parallelismLayout.importLaunchFile');
      assert.equal(unsaved(), '');
    });

    it('opens the chosen difference in both files', async () => {
      const { document } = await open('job.layout.yaml');
      await answering(ACCEPT, 'parallelismLayout.compareLaunchFile', document.uri.toString());
      const selected = await until(
        () =>
          vscode.window.visibleTextEditors.map(
            (editor) => `${editor.document.uri.path.split('/').at(-1)}: ${editor.document.getText(editor.selection)}`,
          ),
        ({ length }) => length === 2,
        'both files',
      );
      assert.deepEqual(selected.sort(), ['job.layout.yaml: 4', 'train.sh: 8']);
    });

    it('compares a layout that is nowhere saved with a file that is chosen, or with none', async () => {
      const content = LAYOUT.replace(/^launch.*\n/m, '');
      const document = await vscode.workspace.openTextDocument({ language: 'parallelism-layout', content });
      await vscode.window.showTextDocument(document);
      await answering(CANCEL, 'parallelismLayout.compareLaunchFile');
      assert.equal(document.getText(), content);
      await answering(CANCEL, 'parallelismLayout.compareLaunchFile', undefined, here('train.sh').toString());
    });

    it('exports a layout as flags, or as nothing where no form is chosen', async () => {
      const { document } = await open('job.layout.yaml');
      await answering(CANCEL, 'parallelismLayout.exportLayout', document.uri);
      assert.equal(vscode.window.activeTextEditor?.document.uri.toString(), document.uri.toString());
      await answering(ACCEPT, 'parallelismLayout.exportLayout', document.uri);
      const exported = vscode.window.activeTextEditor?.document;
      assert.equal(exported?.languageId, 'shellscript');
      assert.match(exported.getText(), /--tensor-model-parallel-size 4/);
    });

    it('exports a layout with errors only where that is wanted anyway', async () => {
      await put('job.layout.yaml', LAYOUT.replace('tp: 4', 'tp: 5'));
      const { document } = await open('job.layout.yaml');
      await vscode.commands.executeCommand(DISMISS);
      const isExported = () =>
        vscode.workspace.textDocuments.some((one) => one.getText().includes('--tensor-model-parallel-size 5'));
      await answering([ACCEPT, DISMISS], 'parallelismLayout.exportLayout', document.uri);
      assert.equal(isExported(), false);
      await answering([ACCEPT, 'notification.acceptPrimaryAction'], 'parallelismLayout.exportLayout', document.uri);
      assert.equal(isExported(), true);
    });

    it('exports a layout without a question where its project switches off the rule that it breaks', async () => {
      await put('job.layout.yaml', LAYOUT.replace('tp: 4', 'tp: 5'));
      const { document } = await open('job.layout.yaml');
      const isError = (finding: vscode.Diagnostic) => codeOf(finding) === 'dense-factorization';
      await untilFindings(document.uri, 1, isError);
      await put('.parallelism-layout.yaml', 'rules: {dense-factorization: off}\n');
      try {
        await untilFindings(document.uri, 0, isError);
        await answering(ACCEPT, 'parallelismLayout.exportLayout', document.uri);
        assert.match(vscode.window.activeTextEditor?.document.getText() ?? '', /--tensor-model-parallel-size 5/);
      } finally {
        await vscode.workspace.fs.delete(here('.parallelism-layout.yaml'));
      }
      await untilFindings(document.uri, 1, isError);
    });

    it('exports a layout without a question where the settings switch off the rule that it breaks', async () => {
      const settings = vscode.workspace.getConfiguration('parallelismLayout');
      const weigh = (level: string | undefined) =>
        settings.update('rules', level && { 'dense-factorization': level }, vscode.ConfigurationTarget.Global);
      await put('job.layout.yaml', LAYOUT.replace('tp: 4', 'tp: 5'));
      const { document } = await open('job.layout.yaml');
      const isError = (finding: vscode.Diagnostic) => codeOf(finding) === 'dense-factorization';
      await untilFindings(document.uri, 1, isError);
      try {
        await weigh('off');
        await untilFindings(document.uri, 0, isError);
        await answering(ACCEPT, 'parallelismLayout.exportLayout', document.uri);
        assert.match(vscode.window.activeTextEditor?.document.getText() ?? '', /--tensor-model-parallel-size 5/);
      } finally {
        await weigh(undefined);
      }
      await untilFindings(document.uri, 1, isError);
    });

    it('reads launch files of other file systems', async () => {
      const files = new MemoryFiles();
      const uri = (name: string) => vscode.Uri.from({ scheme: 'memory', path: `/jobs/${name}` });
      files.write(uri('job.layout.yaml'), LAYOUT);
      files.write(uri('train.sh'), SCRIPT);
      const registered = vscode.workspace.registerFileSystemProvider('memory', files);
      try {
        const editor = await vscode.window.showTextDocument(uri('job.layout.yaml'));
        await untilDrift(editor.document.uri, 1);
        await replace(editor, 'tp: 4', 'tp: 8');
        await untilDrift(editor.document.uri, 0);
      } finally {
        await closeAll();
        registered.dispose();
      }
    });

    it('writes the script’s value into the layout', async () => {
      const editor = await open('job.layout.yaml');
      await untilDrift(editor.document.uri, 1);
      const at = place(editor, 'tp: 4', 'end');
      const actions = await ask<vscode.CodeAction[]>('CodeAction', editor.document.uri, new vscode.Range(at, at));
      const fix = actions.find(({ title }) => title === 'Change tp to 8, as train.sh says');
      assert.ok(fix?.edit, actions.map(({ title }) => title).join('; '));
      await vscode.workspace.applyEdit(fix.edit);
      assert.match(editor.document.getText(), /^ {2}tp: 8$/m);
    });
  });
}
