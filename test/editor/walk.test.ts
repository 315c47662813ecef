// A new user's way through the product, in the real workbench: from the flags of a 64-GPU MoE job to a checked, drawn and dry-run layout.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openMenu, showView } from '../grid/controls';
import { testWorkbench } from '../harness/testWorkbench';

const FLAGS = `torchrun --nnodes=8 --nproc-per-node=8 pretrain_gpt.py \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 3 \\
  --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 \\
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \\
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 \\
  --num-experts 8 --moe-router-topk 2 --moe-token-dispatcher-type alltoall \\
  --seq-length 4096 --sequence-parallel --micro-batch-size 1 --global-batch-size 256
`;

const { version, bugs } = JSON.parse(readFileSync('package.json', 'utf8'));
const work = mkdtempSync(join(tmpdir(), 'layout-walk-'));
mkdirSync(join(work, 'job'));
afterAll(() => rmSync(work, { recursive: true }));

describe('a new user with the flags of a job', () => {
  const workbench = testWorkbench({
    folder: join(work, 'job'),
    settings: { '[yaml]': { 'editor.rulers': [72] } },
  });

  test('makes a layout of the flags on the clipboard', async () => {
    const { page } = workbench;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate((text) => navigator.clipboard.writeText(text), FLAGS);
    await workbench.command('Parallelism Layout: Get Started');
    const steps = page.locator('.gettingStartedContainer');
    await steps.getByRole('button', { name: 'New Layout File' }).click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Flags on the Clipboard' }).click();
    await workbench.line('pp: 3').waitFor();
    await workbench.squiggles.first().waitFor();
    const problem = await workbench.problem('which does not divide 64');
    expect(await problem.textContent()).toMatch(/dense-factorization/);
    await workbench.screenshot('walk-problem');
  });

  test('keeps the editor preferences for YAML', async () => {
    const offer = workbench.notification('Use your [yaml] settings for layouts, too? editor.rulers');
    await offer.waitFor();
    await offer.button('Use for Layouts').click();
    await workbench.page.locator('.editor-instance .view-ruler').first().waitFor();
  });

  test('fixes the mistake by a quick fix', async () => {
    await workbench.line('pp: 3').locator('span', { hasText: '3' }).last().click();
    await workbench.quickFix('Change pp to 4');
    await workbench.line('pp: 4').waitFor();
    await workbench.squiggles.first().waitFor({ state: 'detached' });
  });

  test('completes a key by the name of its flag', async () => {
    const { page } = workbench;
    await workbench.line('expt_tp: 1').locator('span', { hasText: '1' }).last().click();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('num-virtual');
    const row = page.locator('.suggest-widget.visible .monaco-list-row', { hasText: 'vpp' }).first();
    await workbench.press('Control+Space', row);
    await workbench.screenshot('walk-completion');
    await row.click();
    await page.keyboard.press('Escape');
    await page.keyboard.type('2');
    await workbench.line('vpp: 2').waitFor();
    await workbench.squiggles.first().waitFor({ state: 'detached' });
  });

  test('saves the layout, and sees what a smoke job would run', async () => {
    const { page } = workbench;
    await page.keyboard.press('Control+S');
    await page.getByRole('treeitem', { name: 'job.layout.yaml' }).waitFor();
    await workbench.command('Parallelism Layout: Dry Run of Smoke Job');
    await workbench.line('# Dry run of the smoke job of job.layout.yaml on local').waitFor();
    await workbench.screenshot('walk-dry-run');
    await workbench.command('View: Revert and Close Editor');
  });

  test('draws the ranks: each with its coordinates and its peers', async () => {
    const { grid, page } = workbench;
    await page.keyboard.press('Control+J');
    await workbench.command('Parallelism Layout: Show Rank Grid');
    await showView(grid, 'Where');
    await grid.locator('.summary').getByText('64 ranks').waitFor();
    const canvas = grid.locator('.frame canvas');
    const box = await canvas.boundingBox();
    await canvas.focus();
    await page.keyboard.press('ArrowRight');
    await grid.locator('.details h2', { hasText: 'Rank 0' }).waitFor();
    await page.keyboard.press('ArrowRight');
    await grid.locator('.details h2', { hasText: 'Rank 1' }).waitFor();
    expect(box?.width).toBeGreaterThan(200);
    await workbench.screenshot('walk-grid');
    await grid.getByRole('button', { name: 'Show in the file' }).click();
    await page.locator('.editor-instance .line-numbers.active-line-number', { hasText: /^6$/ }).waitFor();
  });

  test('the grid follows edits and keeps its last picture while the file is broken', async () => {
    const { grid, page } = workbench;
    await workbench.typeOver('world_size: 64', '64', '65');
    await grid.locator('.notice', { hasText: 'world-cluster-mismatch' }).waitFor();
    await workbench.screenshot('stale');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('4');
    await grid.locator('.notice').waitFor({ state: 'hidden' });
  });

  test('groups are coloured, and the table says the same in words', async () => {
    const { grid } = workbench;
    await showView(grid, 'Groups');
    await openMenu(grid, 'View');
    await grid.getByLabel('Process group').selectOption('ep');
    await grid.locator('.legend', { hasText: 'ep groups' }).waitFor();
    await workbench.screenshot('walk-groups');
    await showView(grid, 'Table');
    expect(await grid.locator('tbody tr').count()).toBe(64);
    await showView(grid, 'Structure');
    await workbench.screenshot('logical');
  });

  test('names the GPU, looks at a change as a diff, makes it, and takes it back with one undo', async () => {
    const { grid, page } = workbench;
    await showView(grid, 'Trade-offs');
    await grid.getByRole('button', { name: 'cluster.gpu' }).click();
    await page.locator('.suggest-widget.visible').waitFor();
    await page.keyboard.type('H100-80GB');
    await page.keyboard.press('Escape');
    await grid.locator('h1', { hasText: /layouts? fits?/ }).waitFor();
    await workbench.screenshot('walk-tradeoffs');
    const memory = grid.locator('.figure', { hasText: 'memory' }).locator('dd');
    const before = await memory.textContent();
    await grid.locator('.change-row', { hasText: 'tp 2 → 4' }).click();
    await grid.getByRole('button', { name: 'Preview', exact: true }).first().click();
    await page.locator('.monaco-diff-editor').getByText('tp: 4').first().waitFor();
    await workbench.screenshot('walk-change');
    await grid.getByRole('button', { name: 'Apply' }).click();
    await memory.getByText(before ?? '', { exact: true }).waitFor({ state: 'detached' });
    await workbench.editorTab('job.layout.yaml').first().click();
    await workbench.line('tp: 4').click();
    await page.keyboard.press('Control+Z');
    await workbench.line('tp: 2').waitFor();
    await memory.getByText(before ?? '', { exact: true }).waitFor();
  });

  test('the walkthrough has ticked what was done', async () => {
    await workbench.command('Parallelism Layout: Get Started');
    const step = (id: string) => workbench.page.locator(`[role=checkbox][data-done-step-id$="#${id}"]`);
    for (const id of ['create', 'check', 'numbers', 'grid']) {
      await step(id).and(workbench.page.locator('[aria-checked=true]')).waitFor();
    }
    expect(await step('ci').getAttribute('aria-checked')).toBe('false');
    await workbench.screenshot('walk-ticks');
  });

  test('an issue is reported with the versions', async () => {
    const { page } = workbench;
    await page.context().route('https://github.com/**', (route) => route.fulfill({ body: '' }));
    await workbench.command('Parallelism Layout: Report Issue');
    const opened = page.context().waitForEvent('page');
    await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Open', exact: true }).click();
    const issue = new URL((await opened).url());
    expect(`${issue.origin}${issue.pathname}`).toBe(`${bugs.url}/new`);
    expect(issue.searchParams.get('body')).toContain(`\n- Parallelism Layout ${version}\n- code-server `);
  });
});
