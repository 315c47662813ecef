// The panel's page in Chromium, under its own content security policy: what a person sees and does in it, at every size.
import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../harness/until';
import { type Colour, openMenu, pixelsOf, rgbOf, shownView, showView } from './controls';
import { drawn, type Grid, type GridOptions, type GridPage, layoutText, startGrid } from './page';
import { smokeMessage } from './smokeResults';
import { THEME_NAMES, type ThemeName, themeColour } from './themes';

const example = (name: string) => readFile(`examples/${name}.layout.yaml`, 'utf8');
const command = promisify(execFile);
const [mimo, moe, ntp] = await Promise.all([example('mimo-8gpu'), example('moe-64gpu'), example('ntp-64gpu')]);
const plain = layoutText('plain', 4, { tp: 8 });
const MILLION = layoutText('million', 131_072, { tp: 8, pp: 32, cp: 4 });

let grid: Grid;

beforeAll(async () => {
  grid = await startGrid();
  await mkdir('artifacts', { recursive: true });
});

afterAll(() => grid?.close());

/** Opens the panel with a text, and ends with no error on the page: neither a thrown one nor a broken policy. */
async function withPanel(
  text: string | null,
  options: GridOptions,
  run: (panel: GridPage) => Promise<unknown>,
): Promise<void> {
  const panel = await grid.open(options);
  try {
    if (text !== null) {
      await panel.sendText(text);
    }
    await run(panel);
    expect(panel.errors).toEqual([]);
  } finally {
    await panel.close();
  }
}

const details = (page: Page) => page.locator('.details');
const picture = (page: Page) => page.locator('.frame canvas');
const control = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const says = (page: Page, text: string | RegExp) =>
  details(page)
    .getByText(text, typeof text === 'string' ? { exact: true } : {})
    .waitFor();
const sent = (page: Page, type: string) =>
  page.evaluate((wanted) => window.sent.filter((one) => one.type === wanted), type);
const spoken = (page: Page) => page.locator('[aria-live]').textContent();

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await page.keyboard.press(key);
  }
}

/** The table has a box of its own. */
const searchBox = (page: Page) => page.getByRole('searchbox', { name: /^Find ranks/ });

async function find(page: Page, text: string): Promise<void> {
  await searchBox(page).fill(text);
  await searchBox(page).press('Enter');
}

/** Where the picture lies on the page, in pixels. */
async function boxOf(page: Page): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await picture(page).boundingBox();
  expect(box).not.toBeNull();
  return box ?? { x: 0, y: 0, width: 0, height: 0 };
}

/** Waits until a picture that is still being drawn has so many pixels of a colour. */
const hasPixels = (page: Page, colour: Colour, least: number) =>
  until(
    () => pixelsOf(page, colour),
    (count) => count >= least,
    `${least} pixels of ${colour}`,
  );

/** The contrast of two colours (WCAG 2). */
function contrast(one: readonly number[], other: readonly number[]): number {
  const luminance = (colour: readonly number[]) => {
    const [r = 0, g = 0, b = 0] = colour.map((channel) => {
      const share = channel / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

describe('every function by keyboard', () => {
  test('arrows move, Enter shows the lines, C copies, X fails, Shift and arrows frame, Escape lets go', () =>
    withPanel(mimo, {}, async ({ page }) => {
      await picture(page).focus();
      await press(page, 'ArrowRight');
      await says(page, 'Rank 0');
      await press(page, 'ArrowDown');
      await says(page, 'Rank 4');
      expect(await spoken(page)).toMatch(/Rank 4, node 0, GPU 4, language tp 0, pp 0/);
      await press(page, 'Enter', 'c');
      expect(await sent(page, 'reveal')).toEqual([{ type: 'reveal', module: 'language' }]);
      expect(await sent(page, 'copy')).toEqual([{ type: 'copy', text: 'rank 4, node 0, GPU 4, language tp 0, pp 0' }]);
      await press(page, 'Home', 'Shift+ArrowRight', 'Shift+ArrowDown', 'x');
      await says(page, '4 failed ranks');
      await says(page, /^0, 1, 4, 5\b/);
      // the ranks that were selected, then the rank itself
      await press(page, 'Escape', 'Escape');
      await says(page, '8 ranks');
    }));

  test('Tab reaches every control, and the focus can be seen on each', () =>
    withPanel(moe, { state: { rank: 3 } }, async ({ page }) => {
      await page.getByRole('button', { name: 'Where', exact: true }).waitFor();
      const reached: { readonly name: string; readonly isSeen: boolean }[] = [];
      for (let i = 0; i < 60; i++) {
        await press(page, 'Tab');
        const one = await page.locator('body').evaluate((body) => {
          const element = document.activeElement;
          if (!(element instanceof HTMLElement) || element === body || element.dataset.tabbed !== undefined) {
            return null;
          }
          element.dataset.tabbed = '';
          const { outlineStyle, outlineWidth } = getComputedStyle(element);
          const name = element.getAttribute('aria-label') ?? element.textContent ?? '';
          return { name, isSeen: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1 };
        });
        if (!one) {
          break;
        }
        reached.push(one);
      }
      expect(reached.filter(({ isSeen }) => !isSeen)).toEqual([]);
      const names = reached.map(({ name }) => name).join('\n');
      for (const name of ['Find ranks', 'More', 'Where', 'Table', 'Where view', 'Show in the file', 'Copy coord']) {
        expect(names).toContain(name);
      }
    }));

  test('a control keeps the focus when the text changes under it', () =>
    withPanel(moe, {}, async ({ page, sendText }) => {
      await page.getByRole('button', { name: 'Groups', exact: true }).focus();
      await sendText(moe.replace('pp: 4', 'pp: 2'));
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Groups');
      await showView(page, 'Table');
      await control(page, /^Mark as failed: rank 3$/).press('Enter');
      expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Not failed: rank 3');
    }));
});

const TRADEOFFS = { view: 'tradeoffs' };

describe('trade-offs', () => {
  const changes = (page: Page) => page.locator('.change-row');
  const figure = (page: Page, label: string) =>
    page.locator('.figure', { has: page.locator('.label', { hasText: new RegExp(`^${label}$`) }) });

  test('are the first view: where the layout stands, and what one change does to it', () =>
    withPanel(moe, { state: { view: undefined } }, async ({ page, send, sendText }) => {
      expect(await shownView(page)).toBe('Trade-offs');
      expect(await figure(page, 'memory').textContent()).toMatch(/memory\d+ of 80 GiB/);
      await send(grid.engine.tradeoffsMessage(moe));
      await page.locator('h1', { hasText: /^\d+ layouts fit; \d+ are as quick/ }).waitFor();
      await page.getByRole('img').getByText('this layout', { exact: true }).waitFor();
      await changes(page).first().focus();
      await press(page, 'Enter', 'ArrowDown', 'ArrowDown', 'ArrowUp');
      expect(await changes(page).nth(1).getAttribute('aria-pressed')).toBe('true');
      const title = await page.locator('[aria-pressed="true"] .change-title').textContent();
      expect(await spoken(page)).toContain(`${title}: `);
      await page
        .getByRole('img')
        .getByText(title ?? '', { exact: true })
        .waitFor();
      await page.getByText('All numbers').click();
      const rows = page.locator('.numbers tbody tr');
      expect(await rows.nth(0).textContent()).toMatch(/^this layout[\d.]+ s\d+ GiB$/);
      expect(await rows.nth(1).textContent()).toContain(title);
      await press(page, 'Enter');
      await control(page, 'Apply').click();
      expect(await sent(page, 'tryChange')).toMatchObject([{ kind: 'neighbour', index: 1, how: 'apply' }]);
      // while a person types, what is shown stays as it is, greyed, until the text has been weighed
      const first = await changes(page).first().elementHandle();
      await sendText(`${moe}# typed\n`);
      await page.locator('.tradeoffs.old').waitFor();
      expect(await first?.evaluate((row) => row.isConnected)).toBe(true);
      await send(grid.engine.tradeoffsMessage(moe));
      await page.locator('.tradeoffs.old').waitFor({ state: 'detached' });
      expect(await first?.evaluate((row) => row.isConnected)).toBe(false);
    }));

  test('scores stand beside those of a base, above every view', () =>
    withPanel(moe, {}, async ({ page, send }) => {
      await send({ type: 'base', base: grid.engine.baseOf(moe.replace('tp: 4', 'tp: 8'), 'the last commit') });
      expect(await figure(page, 'memory').textContent()).toMatch(/\+[\d.]+ GiB worse/);
      expect(await figure(page, 'step').textContent()).toMatch(/−\d+ % better/);
      await showView(page, 'Cost');
      await page.getByRole('img').getByText('What a rank sends, by link').waitFor();
      expect(await figure(page, 'step').textContent()).toMatch(/−\d+ % better/);
    }));

  test('while the text is wrong the numbers are those of the last one, and nothing moves', () =>
    withPanel(moe, {}, async ({ page, sendText }) => {
      const places = async () => [await boxOf(page), await page.locator('.scoreboard').boundingBox()];
      const before = await places();
      const score = await figure(page, 'step').textContent();
      await sendText(moe.replace('pp: 4', 'pp: 3'));
      await page.locator('.scoreboard.old').waitFor();
      expect(await figure(page, 'step').textContent()).toBe(score);
      expect(await places()).toEqual(before);
      await sendText(moe);
      await page.locator('.scoreboard.old').waitFor({ state: 'detached' });
      expect(await places()).toEqual(before);
    }));

  test('what is not known names the keys that would tell, and adds them: a model as a whole', () =>
    withPanel(plain, { state: TRADEOFFS }, async ({ page, send }) => {
      await send(grid.engine.tradeoffsMessage(plain));
      const keys = ['model', 'batch.micro_batch_size'];
      for (const key of keys) {
        await page.getByRole('button', { name: key, exact: true }).click();
      }
      expect(await sent(page, 'addKey')).toEqual(keys.map((key) => ({ type: 'addKey', key })));
    }));

  test.each([
    [541, 720],
    [316, 600],
  ])('%i px wide all views can be reached and nothing is cut off', (width, height) =>
    withPanel(moe, { width, height, state: TRADEOFFS }, async ({ page, send }) => {
      await send(grid.engine.tradeoffsMessage(moe));
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
      // a view begins at its top, however far the one before was scrolled
      const scrolled = () => page.locator('.main').evaluate((main) => main.scrollTop);
      await page.locator('.main').evaluate((main) => main.scrollTo(0, 100));
      expect(await scrolled()).toBe(100);
      await showView(page, 'Table');
      expect(await scrolled()).toBe(0);
      expect(await shownView(page)).toBe('Table');
      const tab = await page.locator('.tab', { hasText: 'Table' }).boundingBox();
      expect(tab?.x).toBeGreaterThanOrEqual(0);
      await showView(page, 'Where');
      await find(page, '5');
      const card = await page.locator('.details').boundingBox();
      expect((card?.y ?? 0) + (card?.height ?? 0)).toBeLessThanOrEqual(height);
      await says(page, 'Rank 5');
    }),
  );

  test('the panel follows another layout: views stay, ranks of the old one go', () =>
    withPanel(moe, { state: { rank: 9, colour: 'pp' } }, async ({ page, send }) => {
      await says(page, 'Rank 9');
      const other = grid.engine.layoutMessage(mimo, 'b.layout.yaml');
      await send({ ...other, uri: 'file:///b.layout.yaml' });
      await says(page, '8 ranks');
      expect(await page.evaluate(() => window.saved)).toMatchObject({
        uri: 'file:///b.layout.yaml',
        rank: -1,
        view: 'physical',
      });
    }));
});

describe('what is shown alone', () => {
  test('is named beside the answer; Escape lets go of a search, of a group, of the rank, one after another', () =>
    withPanel(MILLION, { state: { rank: 9, group: 'dp', isolated: true } }, async ({ page }) => {
      const chip = page.locator('.alone button');
      await chip.getByText(/^Only dp group \d+/).waitFor();
      await find(page, 'tp=0');
      await chip.getByText(/^Only [\d,]+ ranks found/).waitFor();
      await picture(page).focus();
      await press(page, 'Escape');
      await chip.getByText(/^Only dp group \d+/).waitFor();
      await press(page, 'Escape');
      await chip.waitFor({ state: 'detached' });
      await press(page, 'Escape');
      await says(page, '1,048,576 ranks');
      expect(await spoken(page)).toBe('No rank is chosen');
    }));
});

describe('finding', () => {
  test('a search goes from match to match; one that is not understood says why and lets go of the others', () =>
    withPanel(moe, {}, async ({ page }) => {
      const box = searchBox(page);
      // the controls wait for the first picture
      await page.locator('.tools:not([inert])').waitFor();
      await press(page, '/');
      await page.keyboard.type('pp=2 dp=1');
      await box.press('Enter');
      await says(page, 'Rank 36');
      await page.getByText('1 of 4').waitFor();
      await box.press('Enter');
      await says(page, 'Rank 37');
      await box.press('Shift+Enter');
      await box.press('Shift+Enter');
      await says(page, 'Rank 39');
      await find(page, '3:5');
      await says(page, 'Rank 29');
      await find(page, 'node 9');
      await page.locator('.matches.problem', { hasText: 'The last node is 7' }).waitFor();
      expect(await spoken(page)).toMatch(/The last node is 7/);
      expect(await box.getAttribute('aria-invalid')).toBe('true');
      await find(page, 'rank 29');
      expect(await spoken(page)).toMatch(/^Rank 29, node 3, GPU 5/);
    }));

  test('a rank among a million is shown exactly where a search moves to', () =>
    withPanel(MILLION, { state: { colour: 'pp', viewport: { zoom: 60, x: 0.1, y: 0.1 } } }, async ({ page }) => {
      await find(page, '1048575');
      await says(page, 'Rank 1,048,575');
      await page.waitForFunction(() => {
        const { zoom, x, y } = window.saved.viewport;
        return zoom > 50 && x > 0.75 && y > 0.9;
      });
      await picture(page).focus();
      await press(page, '0', ...Array.from({ length: 9 }, () => '+'));
      await page.waitForFunction(() => {
        const { zoom, x, y } = window.saved.viewport;
        return zoom > 20 && x > 0.75 && y > 0.9;
      });
    }));
});

describe('the list of groups', () => {
  test('pointing at a group shows it alone, choosing it keeps that until Escape, and its ranks can be copied', () =>
    withPanel(moe, { state: { rank: 5 } }, async ({ page }) => {
      const yellow = rgbOf('#f0e442');
      const before = await pixelsOf(page, yellow);
      const row = page.locator('.groups li', { has: page.getByTitle(/^dp = dp_cp/) });
      const isAlone = (alone: boolean) =>
        until(
          () => pixelsOf(page, yellow),
          (count) => count < before / 10 === alone,
          `the others are ${alone ? 'dimmed' : 'shown'}`,
        );
      await row.hover();
      await isAlone(true);
      await page.locator('h1').hover();
      await isAlone(false);
      await row.locator('.group').click();
      await page.locator('h1').hover();
      await isAlone(true);
      expect(await row.locator('.group').getAttribute('aria-pressed')).toBe('true');
      expect(await shownView(page)).toBe('Where');
      await row.locator('.group').press('Escape');
      await isAlone(false);
      await says(page, 'Rank 5');
      await row.locator('.group').press('Enter');
      await isAlone(true);
      await row.locator('.group').press('Enter');
      await isAlone(false);
      expect(await spoken(page)).toBe('All ranks are shown');
      await control(page, /^Copy the ranks of dp = /).press('Enter');
      expect(await sent(page, 'copy')).toEqual([{ type: 'copy', text: '1, 5, 9, 13' }]);
    }));
});

describe('runs', () => {
  test('a run names its culprit and how the others wait', () =>
    withPanel(moe, { state: { view: 'run' } }, async ({ page, send }) => {
      await control(page, 'Open Its Result').click();
      expect(await sent(page, 'openRun')).toHaveLength(1);
      await control(page, 'Verify Against Run...').click();
      await page.evaluate(() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.setData('text/uri-list', '# a run\r\nfile:///runs/17\r\n');
        window.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
      });
      expect(await sent(page, 'verifyRun')).toEqual([
        { type: 'verifyRun', addresses: [] },
        { type: 'verifyRun', addresses: ['file:///runs/17'] },
      ]);
      const report = {
        verdict: 'hang',
        culprits: [{ rank: 37, confidence: 0.9, because: ['rank 37 did not enter `all_reduce`'] }],
        victims: [{ rank: 36, waits_for: [37], group: 'tp', op: 'all_reduce', seq: 4 }],
        groups: { equal: 3, different: [] },
        unseen: [],
        why: [],
      };
      await send({ type: 'run', report });
      const name = 'Rank 37 (node 4, GPU 5) hangs the run. 1 rank waits for it.';
      await page.getByRole('heading', { name }).waitFor();
      await page.locator('.below code', { hasText: 'all_reduce' }).waitFor();
      await hasPixels(page, rgbOf('#d7191c'), 301);
    }));
});

describe('what it costs', () => {
  test('the answer, every group and the numbers as a table fit a narrow pane', () =>
    withPanel(moe, { theme: 'light', width: 360, state: { view: 'cost' } }, async ({ page, sendText }) => {
      const title = 'Stage 0 needs about 35 of 80 GiB; a rank sends 8.1 GB a step out of its node.';
      expect(await page.locator('h1').textContent()).toBe(title);
      const diagram = page.getByRole('img', { name: title });
      for (const text of ['80 GiB a GPU', 'ep · tokens · 155 GB', 'stage 3']) {
        await diagram.getByText(text).first().waitFor();
      }
      const [right, cut] = await diagram.evaluate((svg) => {
        const edge = svg.getBoundingClientRect().right;
        const texts = [...svg.querySelectorAll('text')];
        return [edge, texts.filter((text) => text.getBoundingClientRect().right > edge + 12).length];
      });
      expect(right).toBeLessThanOrEqual(360);
      expect(cut).toBe(0);
      await page.getByText('All numbers').focus();
      await press(page, 'Enter');
      expect(await page.locator('.numbers table').first().locator('tbody tr').count()).toBe(4);
      await sendText(`${moe}# a comment\n`);
      expect(await page.locator('.numbers').getAttribute('open'), 'what was opened stays open').toBe('');
    }));

  test('what the file does not say stays unknown, and is named', () =>
    withPanel(plain, { state: { view: 'cost' } }, async ({ page }) => {
      await page.locator('h1').getByText('The cost is not known: the layout lacks model.hidden_size').waitFor();
      expect(await page.locator('.numbers').count()).toBe(0);
    }));
});

describe('pictures for documents', () => {
  test.each([
    ['groups', 'moe-64gpu', moe],
    ['world', 'mimo-8gpu', mimo],
  ])('what the panel saves of the view %s is what the command line draws', (view, name, text) =>
    withPanel(text, { state: { view } }, async ({ page }) => {
      await openMenu(page, 'More');
      await control(page, 'Export SVG').click();
      const saved = await until(
        () => sent(page, 'save'),
        (all) => all.length === 1,
        `the ${view} view is saved`,
      );
      const args = ['dist/cli.js', 'draw', `examples/${name}.layout.yaml`, '--view', view];
      const { stdout } = await command(process.execPath, args, { maxBuffer: 2 ** 26 });
      expect(saved).toEqual([{ type: 'save', format: 'svg', data: stdout }]);
    }),
  );

  test('the group of the chosen rank is exported alone', () =>
    withPanel(moe, { state: { view: 'groups', group: 'dp', rank: 24 } }, async ({ page }) => {
      await openMenu(page, 'More');
      await control(page, 'Export SVG').click();
      const [saved] = await until(
        () => sent(page, 'save'),
        (all) => all.length === 1,
        'the view is saved',
      );
      expect(JSON.stringify(saved)).toContain('group 4: ranks 16, 20, 24, 28<');
    }));
});

describe('failed ranks', () => {
  test('dragging marks them, the card says what going on costs, and writing asks the editor', () =>
    withPanel(plain, {}, async ({ page, send }) => {
      await openMenu(page, 'More');
      await control(page, 'Mark failed').click();
      await find(page, '6');
      const { x, y, width, height } = await boxOf(page);
      await page.mouse.move(x + 5, y + 5);
      await page.mouse.down();
      await page.mouse.move(x + width - 5, y + height - 5, { steps: 4 });
      await page.mouse.up();
      await says(page, '32 failed ranks');
      await says(page, /It needs one grid without pipeline stages/);
      await control(page, 'Clear').click();
      await picture(page).focus();
      await press(page, 'x');
      await says(page, '1 failed rank');
      expect(await page.locator('.card').textContent()).toMatch(
        /Spares2 of 8 slots.*Active TP6 in replica dp 0.*GPUs that stop2.*Compute kept93\.8 %/,
      );
      expect((await sent(page, 'askRecoveries')).at(-1)).toEqual({ type: 'askRecoveries', ranks: [6] });
      const out = {
        way: 'replicas-out',
        title: '1 of 4 replicas out',
        costs: [['Compute kept', '75.0 %']],
        text: '-',
        closed: null,
      };
      await send({ type: 'recoveries', ranks: [6], recoveries: [out], resizing: null });
      await says(page, 'Looking for layouts on the nodes that are left…');
      expect(await page.locator('.card').textContent()).toMatch(/1 of 4 replicas outCompute kept75\.0 %/);
      await control(page, 'Write to file: 1 of 4 replicas out').click();
      expect(await sent(page, 'writeRecovery')).toEqual([{ type: 'writeRecovery', way: 'replicas-out', ranks: [6] }]);
      await picture(page).focus();
      await press(page, 'x');
      await page.getByRole('button', { name: 'Write to file', exact: true }).click();
      expect(await sent(page, 'writeFailed')).toEqual([{ type: 'writeFailed', ranks: [6] }]);
    }));

  test('the layouts on the nodes that are left are listed, each with its batch, what it keeps, and its ways into files', () =>
    withPanel(moe, { state: { failed: [9] } }, async ({ page, send }) => {
      const message = grid.engine.recoveriesMessage(moe, [9]);
      await send(message);
      const [first] = message.resizing?.ok ? message.resizing.layouts : [];
      const name = `tp ${first?.planned.degrees.tp}`;
      await says(page, 'Other layouts on 56 GPUs');
      expect(await page.locator('.card').textContent()).toMatch(
        /stays 256: 64 → \d+ micro-batches of 1Checkpoint: model loads, optimizer not as it is, RNG state lost\./,
      );
      for (const [label, how] of [
        ['Preview', 'preview'],
        ['Launch files', 'patch'],
        ['Write to file', 'apply'],
      ]) {
        await control(page, new RegExp(`^${label}: ${name}`))
          .first()
          .click();
        expect((await sent(page, 'tryChange')).at(-1)).toEqual({ type: 'tryChange', kind: 'resized', index: 0, how });
      }
    }));

  test('one failed rank in a million is seen while the whole world is', () =>
    withPanel(MILLION, { theme: 'light', state: { colour: 'module', failed: [500_123] } }, ({ page }) =>
      hasPixels(page, rgbOf(themeColour('light', 'errorForeground')), 4),
    ));

  test('roles of nonuniform TP are told by colour and by sign, each once, and the splits are listed', () =>
    withPanel(ntp, { state: { view: 'ntp' } }, async ({ page }) => {
      await page.getByRole('heading', { name: 'Replica 0 runs 6 of 8 TP slots' }).waitFor();
      const failed = page.locator('.legend .item', { hasText: 'failed' });
      await failed.getByText('✕').waitFor();
      expect(await failed.count()).toBe(1);
      const sends = page.locator('table.matrix', { hasText: 'Send splits' }).first();
      expect(await sends.locator('td').count()).toBe(64);
      const some = await sends.locator('td.some').allTextContents();
      expect(
        some.reduce((sum, text) => sum + Number(text), 0),
        'two spare slots send six heads each',
      ).toBe(12);
      await hasPixels(page, rgbOf('#d55e00'), 501);
    }));
});

describe('smoke results', () => {
  test('are shown to a person who asks for them; a failed group is listed first and found by a click', () =>
    withPanel(moe, {}, async ({ page, send }) => {
      const tab = control(page, 'Smoke');
      await tab.click();
      await control(page, 'Run Smoke Job').click();
      expect(await sent(page, 'runSmokeJob')).toHaveLength(1);
      await showView(page, 'Where');
      await send(smokeMessage(grid.engine, moe));
      expect(await tab.getAttribute('aria-pressed')).toBe('false');
      await send({ type: 'showSmoke' });
      expect(await tab.getAttribute('aria-pressed')).toBe('true');
      expect(await page.locator('.outcomes tbody tr').first().textContent()).toMatch(/^dp1615.*1/);
      await control(page, 'group 2').click();
      await says(page, 'Rank 2');
      expect(await spoken(page)).toMatch(/4 ranks: dp group 2; now at rank 2/);
      await openMenu(page, 'View');
      await page.getByLabel('Process group').selectOption('tp');
      await page.locator('.legend', { hasText: 'result of tp' }).waitFor();
      await hasPixels(page, rgbOf('#009e73'), 5001);
      await page.getByLabel('Show', { exact: true }).selectOption('bandwidth');
      await page.locator('.legend', { hasText: /GB\/s/ }).waitFor();
      await find(page, 'failed');
      await says(page, 'Rank 6');
    }));
});

describe('comparing', () => {
  test('two layouts stand side by side, and the ranks that differ are counted, listed and marked', () =>
    withPanel(mimo, { state: { colour: 'tp' } }, async ({ page, send }) => {
      const base = grid.engine.baseOf(mimo.replace('tp: 2\n    pp: 2', 'tp: 4'), 'the last commit');
      await page.getByLabel('Compare with').selectOption('commit');
      expect((await sent(page, 'compare')).at(-1)).toEqual({ type: 'compare', with: 'commit', file: null });
      await send({ type: 'base', base });
      expect(await picture(page).count()).toBe(2);
      const card = page.getByRole('region', { name: 'Difference' });
      expect(await card.textContent()).toMatch(
        /^language.tp 4 → 2, language.pp 1 → 2against the last commit.*modules.language.tp42.*4 ranks differ.*4 unchanged.*2 other peers.*4 – 7/,
      );
      await card.getByRole('button', { name: 'Next' }).click();
      await says(page, /In the last commit: language/);
      await control(page, 'Table').click();
      await page.getByLabel('Rows', { exact: true }).selectOption('differs');
      expect(await page.locator('.table tbody tr').count()).toBe(4);
      await showView(page, 'Where');
      await send({ type: 'base', base: null });
      expect(await picture(page).count()).toBe(1);
    }));

  test('what of a checkpoint loads is listed, and a rank names the ranks that it loads from', () => {
    const [before, now] = [4, 2].map((tp) => `layout: 1\nworld_size: 8\nparallelism: {tp: ${tp}}\n`);
    return withPanel(now ?? '', {}, async ({ page, send }) => {
      await send({ type: 'base', base: grid.engine.baseOf(before ?? '', 'b.layout.yaml') });
      await send(grid.engine.layoutMessage(now ?? '', 'a', before));
      expect(await page.getByRole('region', { name: 'Checkpoint' }).textContent()).toMatch(
        /torch_dist, saved by b\.layout\.yaml.*modelloads.*RNG statelost.*tp 4 → 2/,
      );
      await find(page, '0');
      await details(page)
        .getByRole('button', { name: /loads from\s*0, 1 \(b\.layout\.yaml\)/ })
        .waitFor();
      await details(page)
        .getByRole('button', { name: /is loaded by\s*0, 2, 4, 6/ })
        .waitFor();
    });
  });
});

describe('files that are not whole', () => {
  test('the last picture stays, greyed, with the diagnostic; the world is of the text as it is', () =>
    withPanel(mimo, {}, async ({ page, sendText }) => {
      await sendText(mimo.replace('pp: 2', 'pp: 3'));
      await page.locator('.notice', { hasText: 'dense-factorization' }).waitFor();
      expect(await page.locator('.pictures').evaluate((element) => getComputedStyle(element).opacity)).toBe('0.45');
      await control(page, 'World').click();
      const entry = page.locator('.world-entry', { hasText: 'language' });
      await entry.getByText('dense-factorization').waitFor();
      await entry.getByRole('button', { name: /^line/ }).click();
      expect(await sent(page, 'revealLine')).toHaveLength(1);
    }));

  test('a file that never was whole is drawn as far as it goes', () =>
    withPanel(mimo.replace('pp: 2', 'pp: 3'), {}, ({ page }) =>
      page.locator('.world-entry', { hasText: 'images' }).getByText('0 – 3', { exact: true }).waitFor(),
    ));

  test('gaps, overlaps and what lies beyond the world are hatched and named', () =>
    withPanel(mimo.replace('rank_offset: 4', 'rank_offset: 3'), { state: { view: 'world' } }, async ({ page }) => {
      await page.locator('.world-row', { hasText: 'no module' }).getByText('7', { exact: true }).waitFor();
      await page.locator('.world-row', { hasText: 'several modules' }).getByText('3', { exact: true }).waitFor();
      await page.locator('.sheet .diagnostic', { hasText: 'world-overlap' }).waitFor();
    }));

  test('before the editor has said anything nothing is shown, and nothing moves when the picture comes', () =>
    withPanel(null, {}, async ({ page, sendText }) => {
      await page.evaluate(() => {
        document.body.dataset.vscodeThemeId = 'Default Dark Modern';
      });
      await page.setViewportSize({ width: 1000, height: 700 });
      await drawn(page);
      expect((await page.locator('body').innerText()).trim()).toBe('');
      const room = await boxOf(page);
      await sendText(plain);
      await page.getByRole('heading', { name: '4 replicas of 1 node each' }).waitFor();
      expect(await boxOf(page)).toEqual(room);
    }));
});

test('what a person chose survives hiding and reloading the panel', async () => {
  const chosen: unknown[] = [];
  await withPanel(moe, {}, async ({ page }) => {
    await showView(page, 'Structure');
    await openMenu(page, 'View');
    await page.getByLabel('Across').selectOption('pp');
    await page.getByLabel('Colour', { exact: true }).selectOption('ep');
    await picture(page).focus();
    await press(page, 'End', 'x', '+', '+');
    await page.waitForFunction(() => window.saved.viewport.zoom > 2);
    chosen.push(await page.evaluate(() => window.saved));
  });
  await withPanel(moe, { state: chosen[0] }, async ({ page }) => {
    expect(await shownView(page)).toBe('Structure');
    expect(await page.getByLabel('Across').inputValue()).toBe('pp');
    expect(await page.getByLabel('Colour', { exact: true }).inputValue()).toBe('ep');
    await says(page, 'Rank 63');
    await says(page, '1 failed rank');
    expect(await page.evaluate(() => window.saved)).toEqual(chosen[0]);
  });
});

describe('themes', () => {
  test.each<ThemeName>(THEME_NAMES)('%s: fills, outlines and text stand out from the ground', (theme) =>
    withPanel(moe, { theme, state: { colour: 'pp', rank: 3 } }, async ({ page }) => {
      await page.screenshot({ path: `artifacts/panel-${theme}.png` });
      for (const fill of ['#56b4e9', '#e69f00', '#009e73', '#f0e442']) {
        await hasPixels(page, rgbOf(fill), 2001);
      }
      const ground = rgbOf(themeColour(theme, 'editor-background'));
      const seen = await page.evaluate(() => {
        const probe = document.createElement('span');
        document.body.append(probe);
        const context = document.createElement('canvas').getContext('2d');
        return ['outline', 'box', 'foreground'].map((name) => {
          probe.style.color = `var(--grid-${name})`;
          if (!context) {
            return [];
          }
          context.fillStyle = getComputedStyle(probe).color;
          context.fillRect(0, 0, 1, 1);
          return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
        });
      });
      const [outline = 0, box = 0, text = 0] = seen.map((colour) => contrast(colour, ground));
      expect(Math.min(outline, box)).toBeGreaterThanOrEqual(3);
      expect(text).toBeGreaterThanOrEqual(4.5);
    }),
  );

  test('the ends of a ramp stand out from the ground, also after a change of theme', () =>
    withPanel(layoutText('ramp', 64, { tp: 8, pp: 16 }), { state: { colour: 'pp' } }, async ({ page }) => {
      const gradient = () => page.locator('.ramp').evaluate((ramp: HTMLElement) => ramp.style.backgroundImage);
      const standsOut = (text: string, theme: ThemeName) => {
        const colours = (text.match(/rgb\([^)]*\)/g) ?? []).map((colour) => (colour.match(/\d+/g) ?? []).map(Number));
        const ground = rgbOf(themeColour(theme, 'editor-background'));
        return [colours[0] ?? [], colours.at(-1) ?? []].every((colour) => contrast(colour, ground) >= 1.4);
      };
      const dark = await gradient();
      expect(standsOut(dark, 'dark')).toBe(true);
      await page.evaluate(() => {
        document.body.className = 'vscode-light';
        document.body.dataset.vscodeThemeId = 'Default Light Modern';
      });
      const light = await until(gradient, (now) => now !== dark, 'the legend has the colours of the light theme');
      expect(standsOut(light, 'light')).toBe(true);
    }));
});

describe('every size', () => {
  test.each([
    ['narrowest', 320, 620, 1],
    ['narrow', 420, 700, 1],
    ['zoomed to 200 %', 640, 420, 2],
  ])('%s: nothing is cut off to the side, and the picture keeps room', (_, width, height, scale) =>
    withPanel(moe, { width, height, scale, state: { rank: 9 } }, async ({ page }) => {
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
      const box = await boxOf(page);
      expect(box.width).toBeGreaterThan(180);
      expect(box.height).toBeGreaterThanOrEqual(240);
      expect(await sharpness(page)).toBeCloseTo(scale, 1);
    }),
  );

  test('a pane that grows, and a window that is zoomed, are drawn sharp', () =>
    withPanel(moe, { width: 700, height: 500 }, async ({ page }) => {
      const before = await boxOf(page);
      await page.setViewportSize({ width: 1000, height: 700 });
      await until(
        () => boxOf(page),
        ({ width }) => width > before.width,
        'the picture takes the room',
      );
      const session = await page.context().newCDPSession(page);
      const screen = { width: 500, height: 350, deviceScaleFactor: 2, mobile: false };
      await session.send('Emulation.setDeviceMetricsOverride', screen);
      await until(
        () => sharpness(page),
        (sharp) => Math.abs(sharp - 2) < 0.02,
        'two pixels of the picture to one of the page',
      );
      await hasPixels(page, rgbOf('#56b4e9'), 2001);
    }));

  test('a view without a picture begins under its headline, draws nothing, and nothing in the panel is animated', () =>
    withPanel(moe, {}, async ({ page }) => {
      await picture(page).focus();
      await press(page, '+', '+');
      await page.locator('.minimap', { hasText: /./ }).waitFor();
      expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
      await showView(page, 'Table');
      await drawn(page);
      await page.evaluate(() => {
        const { prototype } = CanvasRenderingContext2D;
        const clear = prototype.clearRect;
        prototype.clearRect = function (...rect) {
          window.sent.push({ type: 'drawn' });
          clear.apply(this, rect);
        };
      });
      for (const name of ['Table', 'Run']) {
        await showView(page, name);
        await find(page, '5');
        await drawn(page);
        const [headline, content] = await Promise.all(
          ['.headline', '.content'].map((part) => page.locator(part).boundingBox()),
        );
        expect((content?.y ?? 0) - (headline?.y ?? 0) - (headline?.height ?? 0), name).toBeLessThan(2);
      }
      expect(await sent(page, 'drawn')).toEqual([]);
      await showView(page, 'Where');
      await drawn(page);
      expect((await sent(page, 'drawn')).length).toBeGreaterThan(0);
      await hasPixels(page, rgbOf('#56b4e9'), 2001);
    }));

  test('a world that is too large for pictures says what works, and does', () =>
    withPanel(layoutText('huge', 2 ** 28, { tp: 8, pp: 32 }), {}, async ({ page, send }) => {
      await page.getByText('Pictures show up to 16,777,216 ranks; this layout has 2,147,483,648.').waitFor();
      await find(page, 'rank 2147483647');
      await says(page, 'Rank 2,147,483,647');
      const base = grid.engine.baseOf(layoutText('huge', 2 ** 28, { tp: 8, pp: 16 }), 'the last commit');
      await send({ type: 'base', base });
      const card = page.getByRole('region', { name: 'Difference' });
      expect(await card.textContent()).toMatch(/^pp 16 → 32.*compared one by one up to 16,777,216/);
      await control(page, 'Table').click();
      await control(page, 'Last').click();
      await page.getByRole('button', { name: '2,147,483,647', exact: true }).waitFor();
    }));
});

/** Pixels of the picture to one of the page. */
const sharpness = (page: Page): Promise<number> =>
  picture(page).evaluate((canvas: HTMLCanvasElement) => canvas.width / canvas.clientWidth);

/** A number for all that the picture shows. */
const SHOWN = `(() => {
  const canvas = document.querySelector('.frame canvas');
  const words = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return words.reduce((hash, word) => (Math.imul(hash, 31) + word) | 0, 7);
})()`;

/** Waits until the picture stays the same for 20 frames: painting in slices changes it sooner. */
const settled = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => {
    let last = null;
    let same = 0;
    (function look() {
      const now = ${SHOWN};
      same = now === last ? same + 1 : 0;
      last = now;
      same < 20 ? requestAnimationFrame(look) : done(now);
    })();
  })`);

describe('a million ranks', () => {
  test('the pointer finds its rank, the table has all, and an overview shows where one is', () =>
    withPanel(MILLION, { state: { colour: 'pp' } }, async ({ page }) => {
      const { x, y, width, height } = await boxOf(page);
      await page.mouse.move(x + width / 2 + 40, y + height / 2 + 60);
      await says(page, /^Rank [\d,]+$/);
      await page.locator('.legend', { hasText: 'boxes: stage; cells: GPU' }).waitFor();
      expect(await page.locator('.minimap').isVisible()).toBe(false);
      await picture(page).focus();
      await press(page, ...Array.from({ length: 11 }, () => '+'));
      await page.locator('.minimap', { hasText: /^stage \d+/ }).waitFor();
      await page.locator('.legend', { hasText: 'boxes: stage › node; cells: GPU' }).waitFor();
      await control(page, 'Table').click();
      await control(page, 'Last').click();
      await page.getByRole('button', { name: '1,048,575', exact: true }).waitFor();
    }));

  test('of groups too small to be told apart one is shown, and the legend says so', () =>
    withPanel(MILLION, { state: { view: 'groups', group: 'dp' } }, async ({ page }) => {
      await page.locator('.legend').getByText('one of 1,024 is shown').waitFor();
      const fill = await page.locator('.legend .swatch').evaluate((swatch) => getComputedStyle(swatch).backgroundColor);
      const [red = 0, green = 0, blue = 0] = (fill.match(/\d+/g) ?? []).map(Number);
      await hasPixels(page, [red, green, blue], 500);
      const others = ['#0072b2', '#d55e00', '#009e73', '#f0e442']
        .map(rgbOf)
        .filter((hue) => hue.join() !== `${red},${green},${blue}`);
      for (const hue of others) {
        expect(await pixelsOf(page, hue)).toBe(0);
      }
    }));

  test('other colours take the place of the old ones in one go, and superseded ones are never shown', () =>
    withPanel(MILLION, { state: { colour: 'pp' } }, async ({ page }) => {
      const old = await settled(page);
      await page.evaluate(`window.frames_ = []; (function look() {
        window.frames_.push(${SHOWN});
        requestAnimationFrame(look);
      })()`);
      await page.locator('select[aria-label="Colour"]').evaluate((picker: HTMLSelectElement) => {
        for (const colour of ['cp', 'tp', 'node', 'dp']) {
          picker.value = colour;
          picker.dispatchEvent(new Event('change'));
        }
      });
      await page.locator('.legend').getByText('dp 1023').waitFor();
      const last = await settled(page);
      expect(last).not.toBe(old);
      const seen = await page.evaluate<number[]>('window.frames_');
      expect([...new Set(seen)]).toEqual([old, last]);
      expect(seen.lastIndexOf(old) + 1).toBe(seen.indexOf(last));
    }));

  test('what is painted bit by bit while a person zooms is what is painted at once', () =>
    withPanel(MILLION, { state: { colour: 'dp' } }, async ({ page }) => {
      await picture(page).focus();
      await press(page, ...Array.from({ length: 9 }, () => '+'));
      await page.waitForFunction(() => window.saved.viewport.zoom > 20);
      await settled(page);
      const { viewport } = await page.evaluate(() => window.saved);
      const bits = await picture(page).evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
      await withPanel(MILLION, { state: { colour: 'dp', viewport } }, async ({ page: other }) => {
        await settled(other);
        const unlike = await picture(other).evaluate(async (canvas: HTMLCanvasElement, url) => {
          const image = new Image();
          image.src = url;
          await image.decode();
          const copy = document.createElement('canvas').getContext('2d');
          const context = canvas.getContext('2d');
          if (!copy || !context) {
            return 1;
          }
          const { width, height } = canvas;
          Object.assign(copy.canvas, { width, height });
          copy.drawImage(image, 0, 0);
          const [one, two] = [copy, context].map((each) => each.getImageData(0, 0, width, height).data);
          return one && two ? one.filter((value, i) => Math.abs(value - (two[i] ?? 0)) > 8).length / one.length : 1;
        }, bits);
        expect(unlike).toBeLessThan(0.001);
      });
    }));

  test('ranks of another layout come beside it, those that differ are counted, and the memory comes back', () =>
    withPanel(plain, { state: { colour: 'pp' } }, async ({ page, send, sendText }) => {
      const session = await page.context().newCDPSession(page);
      const arrays = async () => {
        await session.send('HeapProfiler.collectGarbage');
        const { backingStorageSize = Number.NaN } = await session.send('Runtime.getHeapUsage');
        return backingStorageSize / 2 ** 20;
      };
      const before = await arrays();
      await sendText(MILLION);
      const text = layoutText('million', 131_072, { tp: 8, pp: 16, cp: 4 });
      await send({ type: 'base', base: grid.engine.baseOf(text, 'the last commit') });
      await says(page, /1,048,576 ranks differ/);
      await settled(page);
      for (const canvas of await picture(page).all()) {
        const colours = await canvas.evaluate((one: HTMLCanvasElement) => {
          const data = one.getContext('2d')?.getImageData(0, 0, one.width, one.height).data ?? [];
          return new Set(new Uint32Array(new Uint8ClampedArray(data).buffer)).size;
        });
        expect(colours).toBeGreaterThanOrEqual(16);
      }
      expect(await arrays()).toBeGreaterThan(before + 2);
      await send({ type: 'base', base: null });
      await sendText(plain);
      await until(arrays, (now) => now < before + 1, 'the arrays of a million ranks are gone');
    }));
});

test('messages that are none leave the panel as it is', () =>
  withPanel(mimo, {}, async ({ page, send }) => {
    for (const nonsense of [null, 'layout', {}, { type: 'toString' }, { layout: null }]) {
      await send(nonsense);
    }
    await says(page, '8 ranks');
  }));

test('nothing piles up while texts, views and results come and go', () =>
  withPanel(moe, {}, async ({ page, send, sendText }) => {
    const session = await page.context().newCDPSession(page);
    const rounds = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const text = i % 2 ? moe : mimo;
        await sendText(text);
        await send(smokeMessage(grid.engine, text));
        for (const name of ['Structure', 'Smoke', 'Table', 'Where']) {
          await page.locator(`.tab:text-is("${name}")`).evaluate((tab: HTMLElement) => tab.click());
        }
      }
    };
    const counts = async () => {
      await session.send('HeapProfiler.collectGarbage');
      const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      return { nodes, jsEventListeners, kilobytes: usedSize / 1024 };
    };
    await rounds(4);
    const before = await counts();
    await rounds(12);
    await until(
      counts,
      ({ nodes, jsEventListeners, kilobytes }) =>
        nodes <= before.nodes + 200 &&
        jsEventListeners <= before.jsEventListeners + 50 &&
        kilobytes <= before.kilobytes + 1024,
      `no more than ${JSON.stringify(before)}`,
    );
  }));
