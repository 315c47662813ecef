// Launch files in the real workbench: drop a script on a layout, paste flags, export, and run a script with recording stubs.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { showView } from '../grid/controls';
import { testWorkbench } from '../harness/testWorkbench';

const START = 'torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size';
const FILES = {
  'train.sh': `TP=8\n${START} $TP --pipeline-model-parallel-size 2\n`,
  'two.sh': `${START} 8 --pipeline-model-parallel-size 2\n\n${START} 4\n`,
  'computed.sh': `TP=$(seq 1 4 | tail -n 1)\n${START} $TP\n`,
  'job.layout.yaml': 'layout: 1\nworld_size: 16\nparallelism:\n  tp: 4\n  pp: 2\n',
  'same.layout.yaml': 'layout: 1\nworld_size: 16\nparallelism:\n  tp: 8\n  pp: 2\n',
  'empty.layout.yaml': '',
};

const project = mkdtempSync(join(tmpdir(), 'launch-files-'));
for (const [name, text] of Object.entries(FILES)) {
  writeFileSync(join(project, name), text);
}
afterAll(() => rmSync(project, { recursive: true }));

describe('launch files', () => {
  const workbench = testWorkbench({ folder: project });
  const dialog = () => workbench.page.locator('.monaco-dialog-box');

  test('a script shows the ranks of its job as it is edited, and becomes a layout', async () => {
    const { page, grid } = workbench;
    await workbench.openFile('train.sh');
    const says = (text: string) => page.locator('.codelens-decoration', { hasText: text });
    await says('16 ranks · tp 8 · pp 2').waitFor();
    await workbench.screenshot('launch-lens');
    await workbench.clickLens('Show Ranks', workbench.editorTab('Ranks: train.sh'));
    await showView(grid, 'Where');
    await grid.locator('.summary').getByText('16 ranks').waitFor();
    await grid.getByText('tp 8 × pp 2').first().waitFor();
    await workbench.screenshot('launch-ranks');
    await workbench.typeOver('TP=8', '8', '4');
    await grid.getByText('tp 4 × dp 2 × pp 2').first().waitFor();
    await says('16 ranks · tp 4 · pp 2').waitFor();
    await workbench.command('Parallelism Layout: New Layout from Launch File');
    await workbench.editorTab('train.layout.yaml').waitFor();
    await workbench.line('tp: 4').waitFor();
    await workbench.command('View: Revert and Close Editor');
    await workbench.editorTab('train.layout.yaml').waitFor({ state: 'detached' });
    await workbench.command('View: Revert and Close Editor');
    await workbench.line('TP=4').waitFor({ state: 'detached' });
    await workbench.command('View: Close All Editors');
  });

  test('of a script with several jobs the ranks of the one under the cursor are shown', async () => {
    const { grid } = workbench;
    await workbench.openFile('two.sh');
    await workbench.clickLens('Show Ranks', workbench.editorTab('Ranks: two.sh'));
    await grid.getByText('tp 8 × pp 2').first().waitFor();
    await workbench.line('parallel-size 4').click();
    await grid.getByText('tp 4 × dp 4').first().waitFor();
    await workbench.line('parallel-size 8').click();
    await grid.getByText('tp 8 × pp 2').first().waitFor();
    await workbench.command('View: Close All Editors');
  });

  test('a script that is dropped on a layout is named in it, and compared with it', async () => {
    await workbench.openFile('job.layout.yaml');
    // before the extension has started, the editor inserts the path of what is dropped
    await workbench.lens('Show Rank Grid').waitFor();
    await workbench.dropFile('train.sh', workbench.line('pp: 2'));
    await workbench.line('launch: {family: megatron-lm, files: \\[train.sh\\]}').waitFor();
    await workbench.lens('1 difference from train.sh').waitFor();
    const choices = await workbench.insertChoices();
    expect(await choices.innerText()).toMatch(/^Compare with Launch File\s+Replace with Layout of Launch File\s/);
    await workbench.screenshot('launch-drop');
    await workbench.page.keyboard.press('Escape');
  });

  test('flags that are pasted become keys, and the plain text is offered too', async () => {
    const { page } = workbench;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate((text) => navigator.clipboard.writeText(text), '--context-parallel-size 2 --num-layers 16');
    await workbench.line('pp: 2').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Control+V');
    await workbench.line('cp: 2').waitFor();
    await workbench.line('num_layers: 16').waitFor();
    const choices = await workbench.insertChoices();
    await workbench.screenshot('launch-paste');
    await choices.getByText('Insert Plain Text').first().click();
    await workbench.line('--context-parallel-size 2 --num-layers 16').waitFor();
    await workbench.line('cp: 2').waitFor({ state: 'detached' });
    await workbench.command('View: Revert and Close Editor');
  });

  test('a layout that matches a chosen script can be compared with it from then on', async () => {
    const { page } = workbench;
    await workbench.openFile('same.layout.yaml');
    await workbench.command('Parallelism Layout: Compare with Launch File');
    const input = page.locator('.quick-input-widget input.input').first();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'train.sh' }).waitFor();
    await input.fill(join(workbench.folder, basename(project), 'train.sh'));
    await input.press('Enter');
    const match = workbench.notification('same.layout.yaml matches train.sh.');
    await match.waitFor();
    await match.button('Keep comparing with train.sh').click();
    await workbench.lens('matches train.sh').waitFor();
    await workbench.command('View: Revert and Close Editor');
  });

  test('an empty layout becomes that of a dropped script', async () => {
    await workbench.openFile('empty.layout.yaml');
    await workbench.lens('from a Launch Script').waitFor();
    await workbench.screenshot('launch-empty');
    await workbench.dropFile('train.sh', workbench.page.locator('.editor-instance .view-line').first());
    await workbench.line('tp: 8').waitFor();
    await workbench.lens('matches train.sh').waitFor();
  });

  test('a layout is exported under its name and that of the form', async () => {
    const { page } = workbench;
    await workbench.command('Parallelism Layout: Export Layout As');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'a Slurm batch script' }).click();
    await workbench.editorTab('empty.sbatch.sh').waitFor();
    await workbench.screenshot('launch-export');
    await workbench.command('View: Revert and Close Editor');
  });

  test('a script runs with recording stubs once a person agrees, and gives what its text does not', async () => {
    await workbench.contextMenu('computed.sh', 'New Layout from Launch File');
    const offer = workbench.notification('The text of computed.sh leaves values unknown: parallelism.tp');
    await offer.waitFor();
    await offer.button('Run with Recording Stubs...').click();
    await dialog().getByText('Run computed.sh with recording stubs?').waitFor();
    await workbench.screenshot('launch-consent');
    await dialog().getByRole('button', { name: 'Run Script' }).click();
    await workbench.line('tp: 4').waitFor();
    await workbench.editorTab('computed.layout.yaml').waitFor();
  });
});
