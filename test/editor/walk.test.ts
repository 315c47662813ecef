// A person's way through the product, in the real workbench: break the example, see the finding, fix it, see the ranks.
import { describe, expect, test } from 'vitest';
import { openMenu, showView } from '../grid/controls';
import { testWorkbench } from '../harness/testWorkbench';

const EXAMPLE = 'mimo-8gpu.layout.yaml';

describe('a walk', () => {
  const workbench = testWorkbench({ folder: 'examples' });

  test('a wrong number is underlined and listed with the error that Megatron-LM would raise', async () => {
    await workbench.openFile(EXAMPLE);
    expect(await workbench.squiggles.count()).toBe(0);
    await workbench.typeOver('rank_offset: 4', '4', '6');
    await workbench.squiggles.first().waitFor();
    const problem = await workbench.problem('world has ranks 0 to 7');
    expect(await problem.textContent()).toMatch(/world-overflow/);
    await workbench.screenshot('finding');
  });

  test('a quick fix fixes it', async () => {
    await workbench.line('rank_offset: 6').locator('span', { hasText: '6' }).last().click();
    await workbench.quickFix('Change rank_offset to 4');
    await workbench.squiggles.first().waitFor({ state: 'detached' });
    await workbench.line('rank_offset: 4').waitFor();
  });

  test('the rank grid shows every rank, its coordinates and its peers', async () => {
    await workbench.page.keyboard.press('Control+J');
    await workbench.command('Parallelism Layout: Show Rank Grid');
    const { grid } = workbench;
    await grid.locator('.summary').getByText('8 ranks').waitFor();
    const canvas = grid.locator('.frame canvas');
    const box = await canvas.boundingBox();
    await canvas.focus();
    await workbench.page.keyboard.press('ArrowRight');
    await grid.locator('.details h2', { hasText: 'Rank 0' }).waitFor();
    await workbench.page.keyboard.press('ArrowRight');
    await grid.locator('.details h2', { hasText: 'Rank 1' }).waitFor();
    expect(await grid.locator('.details').textContent()).toMatch(/images/);
    expect(box && box.width > 200).toBeTruthy();
    await workbench.screenshot('grid');
  });

  test('a click on a rank shows the lines that place it', async () => {
    const { grid } = workbench;
    await grid.getByRole('searchbox').fill('pp=1 language');
    await grid.getByRole('searchbox').press('Enter');
    await grid.locator('.details h2', { hasText: 'Rank 6' }).waitFor();
    await grid.getByRole('button', { name: 'Show in the file' }).click();
    const line = workbench.page.locator('.editor-instance .line-numbers.active-line-number');
    await line.filter({ hasText: /^16$/ }).waitFor();
  });

  test('the grid follows edits and keeps its last picture while the file is broken', async () => {
    const { grid, page } = workbench;
    await workbench.typeOver('world_size: 8', '8', '9');
    await grid.locator('.notice', { hasText: 'world-cluster-mismatch' }).waitFor();
    await workbench.screenshot('stale');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('8');
    await grid.locator('.notice').waitFor({ state: 'hidden' });
  });

  test('groups are coloured, and the world and the table say the same in other ways', async () => {
    const { grid } = workbench;
    await showView(grid, 'Groups');
    await openMenu(grid, 'View');
    await grid.getByLabel('Process group').selectOption('dp');
    await grid.locator('.legend', { hasText: 'dp groups' }).waitFor();
    await workbench.screenshot('groups');
    await showView(grid, 'World');
    await grid.locator('.world-row', { hasText: 'images' }).waitFor();
    await showView(grid, 'Table');
    expect(await grid.locator('tbody tr').count()).toBe(8);
    await showView(grid, 'Structure');
    await workbench.screenshot('logical');
  });
});
