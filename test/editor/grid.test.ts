// A person at the rank grid, in the real workbench: with the keyboard alone, with the mouse, beside the last commit, in another theme.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { openMenu, pixelsOf, rgbOf, shownView, showView } from '../grid/controls';
import { testWorkbench } from '../harness/testWorkbench';
import { until } from '../harness/until';
import type { Workbench } from '../harness/workbench';

const EXAMPLE = 'ntp-64gpu.layout.yaml';

/** Fills of ranks that are active, and that have failed. */
const ACTIVE = rgbOf('#56b4e9');
const FAILED = rgbOf('#d55e00');

/** Waits until the picture of a theme is drawn, and keeps it. */
async function expectTheme(workbench: Workbench, kind: string): Promise<void> {
  const { grid } = workbench;
  await grid.locator(`body.${kind}`).waitFor();
  await showView(grid, 'Failures');
  const drawn = async () => (await pixelsOf(grid, ACTIVE)) > 5000 && (await pixelsOf(grid, FAILED)) > 100;
  await until(drawn, Boolean, 'both roles are drawn');
  await workbench.screenshot(`grid-${kind}`);
}

describe('the rank grid in the workbench', () => {
  const workbench = testWorkbench({
    folder: 'examples',
    settings: { 'git.enabled': true, 'git.openRepositoryInParentFolders': 'always' },
    commit: true,
  });
  let grid: FrameLocator;

  beforeAll(async () => {
    grid = workbench.grid;
    const { page } = workbench;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await workbench.openFile(EXAMPLE);
    await workbench.command('Parallelism Layout: Show Rank Grid');
    await showView(grid, 'Where');
    await grid.locator('.summary').getByText('64 ranks').waitFor();
  });

  const details = () => grid.locator('.details');
  const dirty = () => workbench.page.locator('.tabs-container .tab.dirty', { hasText: EXAMPLE });

  test('with the keyboard alone: reach the grid, fail a rank, write it into the file, undo', async () => {
    const { page } = workbench;
    const { keyboard } = page;
    await workbench.command('View: Focus Right Editor Group');
    const focused = () => grid.locator('body').evaluate(() => document.activeElement?.tagName ?? '');
    await until(
      async () => {
        await keyboard.press('Tab');
        return (await focused()) === 'CANVAS';
      },
      Boolean,
      'Tab reaches the picture',
    );
    await keyboard.press('Home');
    for (let i = 0; i < 3; i++) {
      await keyboard.press('ArrowRight');
    }
    await details().locator('h2', { hasText: 'Rank 3' }).waitFor();
    await keyboard.press('x');
    await details().getByText('3 failed ranks').waitFor();
    await until(
      async () => {
        await keyboard.press('Tab');
        return (await grid.locator('body').evaluate(() => document.activeElement?.textContent)) === 'Write to file';
      },
      Boolean,
      'Tab reaches the button',
    );
    await keyboard.press('Enter');
    await workbench.line('failed_ranks: .3, 6, 7').waitFor();
    await dirty().waitFor();
    await workbench.screenshot('grid-written');
    await workbench.command('View: Focus Left Editor Group');
    await keyboard.press('Control+Z');
    await workbench.line('failed_ranks: .6, 7').waitFor();
    await dirty().waitFor({ state: 'detached' });
  });

  test('pointing at a rank lights its group and names all of them; a double click shows its lines; copying works', async () => {
    const { page } = workbench;
    const canvas = grid.locator('.frame canvas');
    const { x, y, width, height } = (await canvas.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await grid.getByRole('searchbox').fill('19');
    await grid.getByRole('searchbox').press('Enter');
    await details().locator('h2', { hasText: 'Rank 19' }).waitFor();
    const another = details()
      .locator('h2', { hasText: /^Rank (?!19$)\d+$/ })
      .first();
    let step = 0;
    await until(
      async () => {
        step = (step + 1) % 20;
        await page.mouse.move(x + width * (0.5 + 0.02 * step), y + height * (0.5 + 0.02 * step));
        await another.waitFor({ timeout: 1000 });
        return true;
      },
      Boolean,
      'another rank is pointed at',
    );
    expect(await details().locator('.groups li').count()).toBeGreaterThanOrEqual(3);
    await page.mouse.down();
    await page.mouse.up();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await page.locator('.editor-instance .line-numbers.active-line-number').filter({ hasText: /^10$/ }).waitFor();
    await details().getByRole('button', { name: 'Copy coordinates' }).click();
    await until(
      async () =>
        /^rank \d+, node \d, GPU \d, tp \d, dp \d$/.test(await page.evaluate(() => navigator.clipboard.readText())),
      Boolean,
      'the coordinates are on the clipboard',
    );
  });

  test('the picture is saved with its title and legend', async () => {
    const { page } = workbench;
    await openMenu(grid, 'More');
    await grid.getByRole('button', { name: 'Export SVG' }).click();
    const input = page.locator('.quick-input-widget input').first();
    await input.waitFor();
    await until(async () => (await input.inputValue()).endsWith('ntp-64gpu.svg'), Boolean, 'a name is offered');
    await input.press('Enter');
    const file = join(workbench.folder, 'examples', 'ntp-64gpu.svg');
    await until(
      () => existsSync(file) && readFileSync(file, 'utf8').endsWith('</svg>\n'),
      Boolean,
      'the picture is on the disk',
    );
    const svg = readFileSync(file, 'utf8');
    expect(svg).toMatch(/<desc>ntp-64gpu · 64 ranks on 8 nodes of 8 GPUs · tp 8 × dp 8<\/desc>/);
    expect(svg).toMatch(/>2 failed</);
  });

  test('the file is compared with its last commit', async () => {
    await workbench.typeOver('tp: 8', '8', '4');
    await grid.getByRole('combobox', { name: 'Compare with' }).selectOption('commit');
    const card = grid.getByRole('region', { name: 'Difference' });
    await card.getByText('against the last commit').waitFor();
    await workbench.screenshot('grid-compare');
    expect(await grid.locator('.frame canvas').count()).toBe(2);
    await workbench.command('File: Revert File');
    await card.getByText('No rank differs').waitFor();
    await grid.getByRole('combobox', { name: 'Compare with' }).selectOption('nothing');
    await card.waitFor({ state: 'detached' });
  });

  test('the picture follows a change of the theme', async () => {
    workbench.setting('workbench.colorTheme', 'Default Light Modern');
    await expectTheme(workbench, 'vscode-light');
  });

  test('what was chosen is still there after hiding the panel, moving it, and reloading the window', async () => {
    const { page } = workbench;
    const chosen = () =>
      until(async () => (await shownView(grid)) === 'Structure', Boolean, 'the chosen view is shown');
    await showView(grid, 'Structure');
    await chosen();
    await workbench.command('View: Move Editor into Previous Group');
    await chosen();
    await workbench.editorTab(EXAMPLE).first().click();
    await workbench.line('world_size').waitFor();
    await page.locator('.tabs-container .tab', { hasText: 'Ranks' }).click();
    await chosen();
    await workbench.reload();
    await chosen();
    await grid.locator('.frame canvas').first().waitFor();
  });

  test('high contrast draws what the others do', async () => {
    workbench.setting('workbench.colorTheme', 'Default High Contrast');
    await workbench.reload();
    await expectTheme(workbench, 'vscode-high-contrast');
  });
});
