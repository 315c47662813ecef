import { strict as assert } from 'node:assert';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as vscode from 'vscode';
import { processesWith } from '../../harness/processes';
import { until } from '../../harness/until';
import { closeAll, newFolder, untilEnded } from './editor';

/** A text of which static reading gets no tp; running it tries to write a file, and starts a job with tp 4. */
const SCRIPT = `echo run >written
TP=$(seq 1 4 | tail -n 1)
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size $TP --num-layers 8
`;
const ENDLESS = 'while :; do :; done &\nwhile :; do :; done\n';
const RUN = 'parallelismLayout.runLaunchScript';

/** The folder of a test. */
let home: vscode.Uri;

const here = (name: string) => vscode.Uri.joinPath(home, name);
const put = (name: string, text: string) => vscode.workspace.fs.writeFile(here(name), new TextEncoder().encode(text));
/** Whether a script wrote beside itself, which none can. */
const hasWritten = async () => (await vscode.workspace.fs.readDirectory(home)).some(([name]) => name === 'written');
const EXECUTED = /^# The script was executed with recording stubs/m;
/** The layouts beside the script, which are nowhere saved. */
const layouts = () =>
  vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === 'untitled' && uri.path.startsWith(`${home.path}/`));
const layoutText = () =>
  layouts()
    .map((document) => document.getText())
    .join('\n');

/** Presses the button of the offer until the question comes: one more press would cancel the run. */
async function acceptOffer(asked: () => string): Promise<void> {
  const press = async () => {
    if (asked() === '') {
      await vscode.commands.executeCommand('notification.acceptPrimaryAction');
    }
    return asked();
  };
  await until(press, (text) => text !== '', 'the question');
}

/** Launch scripts that run with recording stubs, on a machine. */
export function defineRecord(): void {
  describe('a launch script that is run', () => {
    const { showErrorMessage, showWarningMessage } = vscode.window;

    /** Answers the modal question, which the editor does not show in a test; gives what was asked. */
    function answer(button: string | undefined): () => string {
      let asked = '';
      const stub = async (message: string, { detail = '' }: vscode.MessageOptions) => {
        asked += `${message}\n${detail}\n`;
        return button;
      };
      Object.assign(vscode.window, { showWarningMessage: stub });
      return () => asked;
    }

    /** What is said to have gone wrong. */
    let errors: string[];

    beforeEach(async () => {
      home = newFolder('record');
      errors = [];
      const stub = (message: string, ...buttons: string[]) => {
        errors.push(message);
        return showErrorMessage(message, ...buttons);
      };
      Object.assign(vscode.window, { showErrorMessage: stub });
      await put('train.sh', SCRIPT);
    });

    afterEach(async () => {
      Object.assign(vscode.window, { showErrorMessage, showWarningMessage });
      await vscode.commands.executeCommand('notifications.clearAll');
      await closeAll();
      await vscode.workspace.fs.delete(home, { recursive: true });
    });

    it('completes the layout of its text, once a person agrees', async () => {
      const asked = answer('Run Script');
      await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', here('train.sh'));
      assert.match(layoutText(), /^# parallelism\.tp is unknown/m);
      assert.doesNotMatch(layoutText(), EXECUTED);
      await acceptOffer(asked);
      await until(layoutText, (text) => /^ {2}tp: 4 +# train.sh:3$/m.test(text), 'the value that the script computes');
      assert.match(asked(), /^Run train\.sh with recording stubs\?\nbash executes \/.*\/record-\d+\/train\.sh as you/);
      assert.match(layoutText(), EXECUTED);
      assert.deepEqual(
        layouts().map(({ uri }) => uri.path),
        [here('train.layout.yaml').path],
      );
      assert.equal(await hasWritten(), false);
    });

    it('is offered where the text starts no job', async () => {
      const asked = answer('Run Script');
      const command = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2';
      await put('hidden.sh', `RUN=$(echo x${command} | cut -c 2-)\n$RUN\n`);
      await vscode.commands.executeCommand('parallelismLayout.importLaunchFile', here('hidden.sh'));
      assert.equal(layoutText(), '');
      await acceptOffer(asked);
      await until(layoutText, (text) => /^ {2}tp: 2\b/m.test(text), 'the layout of what the script starts');
    });

    it('does not start where a person declines', async () => {
      const asked = answer(undefined);
      await vscode.commands.executeCommand(RUN, here('train.sh'));
      assert.match(asked(), /^Run train\.sh/);
      assert.equal(layoutText(), '');
    });

    it('runs as its editor has it, which is saved first', async () => {
      answer('Run Script');
      const script = await vscode.window.showTextDocument(here('train.sh'));
      await script.edit((edit) => edit.insert(new vscode.Position(0, 0), 'PP="--pipeline-model-parallel-size 2"\n'));
      await script.edit((edit) => edit.insert(script.document.lineAt(3).range.end, ' $PP'));
      await vscode.commands.executeCommand(RUN);
      assert.match(layoutText(), /^ {2}pp: 2\b/m);
      assert.equal(script.document.isDirty, false);
    });

    it('leaves no process and no folder when it is cancelled', async () => {
      answer('Run Script');
      await put('endless.sh', ENDLESS);
      const folders = () => readdirSync(tmpdir()).filter((name) => name.includes(`-script-${process.pid}-`));
      const processes = () => processesWith(here('endless.sh').fsPath);
      const running = vscode.commands.executeCommand(RUN, here('endless.sh'));
      await until(processes, ({ length }) => length > 2, 'the script runs');
      assert.equal(folders().length, 1);
      const cancel = () => vscode.commands.executeCommand('notification.acceptPrimaryAction');
      await untilEnded(running, cancel, 'the run');
      assert.deepEqual([...processes(), ...folders(), ...layouts(), ...errors], []);
    });

    it('is refused where it is no shell script', async () => {
      const asked = answer('Run Script');
      await put('train.py', 'print()\n');
      await vscode.commands.executeCommand(RUN, here('train.py'));
      assert.equal(asked(), '');
    });
  });
}
