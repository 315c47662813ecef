// The panel's page in Chromium, under its own content security policy: what a person sees and does in it, at every size.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { until } from '../harness/until.ts';
import { openMenu, shownView, showView } from './controls.ts';
import { layoutText, startGrid, THEMES } from './page.mjs';
import { smokeMessage } from './smokeResults.mjs';

const example = (name) => readFile(new URL(`../../examples/${name}.layout.yaml`, import.meta.url), 'utf8');
const mimo = await example('mimo-8gpu');
const moe = await example('moe-64gpu');
const ntp = await example('ntp-64gpu');
const moeFile = 'examples/moe-64gpu.layout.yaml';
const command = promisify(execFile);
const plain = layoutText('plain', 4, { tp: 8 });
const MILLION = layoutText('million', 131_072, { tp: 8, pp: 32, cp: 4 });

let grid;

before(async () => {
  grid = await startGrid();
  await mkdir('artifacts', { recursive: true });
});

after(() => grid?.close());

/** Opens the panel with a text, and ends with no error on the page: neither a thrown one nor a broken policy. */
async function withPanel(text, options, run) {
  const panel = await grid.open(options);
  try {
    await panel.sendText(text);
    await run(panel);
    assert.deepEqual(panel.errors, []);
  } finally {
    await panel.close();
  }
}

const details = (page) => page.locator('.details');
const sent = (page, type) => page.evaluate((wanted) => window.sent.filter((one) => one.type === wanted), type);
const live = (page) => page.locator('[aria-live]');

/** The colour of a point of the canvas, in CSS pixels. */
const pixel = (page, x, y) =>
  page.evaluate(
    ([left, top]) => {
      const canvas = document.querySelector('.frame canvas');
      const ratio = canvas.width / canvas.clientWidth;
      return [...canvas.getContext('2d').getImageData(left * ratio, top * ratio, 1, 1).data];
    },
    [x, y],
  );

/** How many pixels of the canvas have a colour. */
const pixelsOf = (page, [r, g, b]) =>
  page.evaluate(
    ([red, green, blue]) => {
      const canvas = document.querySelector('.frame canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        count += data[i] === red && data[i + 1] === green && data[i + 2] === blue && data[i + 3] === 255 ? 1 : 0;
      }
      return count;
    },
    [r, g, b],
  );

/** Waits until a picture that is still being drawn has so many pixels of a colour. */
const hasPixels = (page, colour, least) =>
  until(
    () => pixelsOf(page, colour),
    (count) => count >= least,
    `${least} pixels of ${colour}`,
  );

const rgbOf = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/** The contrast of two colours (WCAG 2). */
function contrast(one, other) {
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((channel) => {
      const share = channel / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

describe('every function by keyboard', () => {
  test('arrows move, Enter shows the lines, C copies, X fails, Shift and arrows frame, Escape lets go', () =>
    withPanel(mimo, {}, async ({ page }) => {
      const { keyboard } = page;
      await page.locator('.frame canvas').focus();
      await keyboard.press('ArrowRight');
      await details(page).getByText('Rank 0', { exact: true }).waitFor();
      await keyboard.press('ArrowDown');
      await details(page).getByText('Rank 4', { exact: true }).waitFor();
      assert.match(await live(page).textContent(), /Rank 4, node 0, GPU 4, language tp 0, pp 0/);
      await keyboard.press('Enter');
      assert.deepEqual(await sent(page, 'reveal'), [{ type: 'reveal', module: 'language' }]);
      await keyboard.press('c');
      assert.match((await sent(page, 'copy'))[0].text, /^rank 4, node 0, GPU 4, language tp 0, pp 0$/);
      await keyboard.press('Home');
      await keyboard.press('Shift+ArrowRight');
      await keyboard.press('Shift+ArrowDown');
      await keyboard.press('x');
      await details(page).getByText('4 failed ranks').waitFor();
      await details(page).getByText('0, 1, 4, 5', { exact: true }).waitFor();
      await keyboard.press('Escape');
      await details(page).getByText('8 ranks').waitFor();
    }));

  test('Tab reaches every control, and the focus can be seen on each', () =>
    withPanel(moe, { state: { rank: 3 } }, async ({ page }) => {
      await page.getByRole('button', { name: 'Where', exact: true }).waitFor();
      const reached = [];
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press('Tab');
        const one = await page.evaluate(() => {
          const element = document.activeElement;
          const { outlineStyle, outlineWidth } = getComputedStyle(element);
          const name = element.getAttribute('aria-label') ?? element.textContent ?? '';
          const first = element.dataset.tabbed === undefined;
          element.dataset.tabbed = '';
          return {
            tag: element.tagName,
            name,
            first,
            seen: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1,
          };
        });
        if (one.tag === 'BODY' || !one.first) {
          break;
        }
        reached.push(one);
      }
      assert.deepEqual(
        reached.filter(({ seen }) => !seen),
        [],
      );
      const names = reached.map(({ name }) => name).join('\n');
      for (const wanted of [
        'Find ranks',
        'More',
        'Where',
        'Table',
        'Where view',
        'Show in the file',
        'Copy coordinates',
      ]) {
        assert.ok(names.includes(wanted), `${wanted} in\n${names}`);
      }
    }));

  test('a control keeps the focus when the text changes under it', () =>
    withPanel(moe, {}, async ({ page, sendText }) => {
      await page.getByRole('button', { name: 'Groups', exact: true }).focus();
      await sendText(moe.replace('pp: 4', 'pp: 2'));
      assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Groups');
    }));
});

describe('finding', () => {
  test('a search goes from match to match, and says where it is', () =>
    withPanel(moe, {}, async ({ page }) => {
      const box = page.getByRole('searchbox');
      // the controls wait for the first picture
      await page.locator('.tools:not([inert])').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('pp=2 dp=1');
      await box.press('Enter');
      await details(page).getByText('Rank 36', { exact: true }).waitFor();
      await page.getByText('1 of 4').waitFor();
      await box.press('Enter');
      await details(page).getByText('Rank 37', { exact: true }).waitFor();
      await box.press('Shift+Enter');
      await box.press('Shift+Enter');
      await details(page).getByText('Rank 39', { exact: true }).waitFor();
      await box.fill('3:5');
      await box.press('Enter');
      await details(page).getByText('Rank 29', { exact: true }).waitFor();
      await box.fill('99');
      await box.press('Enter');
      assert.equal(await box.getAttribute('aria-invalid'), 'true');
    }));

  test('a rank among a million is shown exactly where a search moves to', () =>
    withPanel(MILLION, { state: { colour: 'pp', viewport: { zoom: 60, x: 0.1, y: 0.1 } } }, async ({ page }) => {
      await page.getByRole('searchbox').fill('1048575');
      await page.getByRole('searchbox').press('Enter');
      await details(page).getByText('Rank 1,048,575', { exact: true }).waitFor();
      await page.waitForFunction(() => {
        const { zoom, x, y } = window.saved.viewport;
        return zoom > 50 && x > 0.75 && y > 0.9;
      });
    }));

  test('copying gives the ranks of a group', () =>
    withPanel(moe, { state: { rank: 5 } }, async ({ page }) => {
      await page.getByRole('button', { name: /^Copy the ranks of dp = / }).press('Enter');
      assert.deepEqual(await sent(page, 'copy'), [{ type: 'copy', text: '1, 5, 9, 13' }]);
    }));
});

describe('what the panel answers', () => {
  test('a search that is not understood says why, and lets go of what was highlighted', () =>
    withPanel(moe, {}, async ({ page }) => {
      const box = page.getByRole('searchbox');
      await box.fill('tp=0-1 pp=0');
      await box.press('Enter');
      await page.getByText('1 of 8').waitFor();
      await box.fill('node 9');
      await box.press('Enter');
      await page.locator('.matches.problem', { hasText: 'The last node is 7' }).waitFor();
      assert.match(await live(page).textContent(), /The last node is 7/);
    }));

  test('pointing at a group in the list shows it alone, and choosing it keeps the view', () =>
    withPanel(moe, { state: { rank: 5 } }, async ({ page }) => {
      const yellow = rgbOf('#f0e442');
      const before = await pixelsOf(page, yellow);
      const row = page.locator('.groups li', { hasText: 'dp = dp_cp' });
      await row.hover();
      await page.waitForFunction(
        ([count, [r, g, b]]) => {
          const canvas = document.querySelector('.frame canvas');
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          let seen = 0;
          for (let i = 0; i < data.length; i += 4) {
            seen += data[i] === r && data[i + 1] === g && data[i + 2] === b ? 1 : 0;
          }
          return seen < count / 10;
        },
        [before, yellow],
      );
      await row.locator('.group').click();
      assert.equal(await row.locator('.group').getAttribute('aria-pressed'), 'true');
      assert.equal(await shownView(page), 'Where');
    }));

  test('a run names its culprit and how the others wait', () =>
    withPanel(moe, { state: { view: 'run' } }, async ({ page, send }) => {
      await page.getByRole('button', { name: 'Open Its Result' }).click();
      assert.equal((await sent(page, 'openRun')).length, 1);
      await page.getByRole('button', { name: 'Verify Against Run...' }).click();
      await page.evaluate(() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.setData('text/uri-list', '# a run\r\nfile:///runs/17\r\n');
        window.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
      });
      assert.deepEqual(
        (await sent(page, 'verifyRun')).map(({ addresses }) => addresses),
        [[], ['file:///runs/17']],
      );
      await send({
        type: 'run',
        report: {
          verdict: 'hang',
          culprits: [{ rank: 37, confidence: 0.9, because: ['rank 37 did not enter `all_reduce`'] }],
          victims: [{ rank: 36, waits_for: [37], group: 'tp', op: 'all_reduce', seq: 4 }],
          groups: { equal: 3, different: [] },
          why: [],
        },
      });
      await page
        .getByRole('heading', { name: 'Rank 37 (node 4, GPU 5) hangs the run. 1 rank waits for it.' })
        .waitFor();
      await page.locator('.below code', { hasText: 'all_reduce' }).waitFor();
      await hasPixels(page, rgbOf('#d7191c'), 301);
    }));

  test('the legend says what lies in what, and an overview shows where one is', () =>
    withPanel(MILLION, {}, async ({ page }) => {
      await page.locator('.legend', { hasText: 'boxes: stage; cells: GPU' }).waitFor();
      assert.equal(await page.locator('.minimap').isVisible(), false);
      await page.locator('.frame canvas').focus();
      for (let i = 0; i < 11; i++) {
        await page.keyboard.press('+');
      }
      await page.locator('.minimap', { hasText: /^stage \d+/ }).waitFor();
      await page.locator('.legend', { hasText: 'boxes: stage › node; cells: GPU' }).waitFor();
    }));
});

describe('what it costs', () => {
  test('the answer, the limit, every group and the numbers as a table, in every theme and width', async () => {
    for (const [theme, width] of [
      ['dark', 1400],
      ['light', 360],
      ['high-contrast', 700],
      ['high-contrast-light', 1000],
    ]) {
      await withPanel(moe, { theme, width, state: { view: 'cost' } }, async ({ page }) => {
        const title = 'Stage 0 needs about 40 of 80 GiB; a rank sends 13 GB a step out of its node.';
        assert.equal(await page.locator('h1').textContent(), title);
        const diagram = page.getByRole('img', { name: title });
        for (const text of ['80 GiB a GPU', 'ep · tokens · 155 GB', 'stage 3']) {
          await diagram.getByText(text).first().waitFor();
        }
        const { right } = await diagram.evaluate((svg) => svg.getBoundingClientRect());
        assert.ok(right <= width, `${theme}: ${right} of ${width}`);
        const ends = await diagram.evaluate((svg) => {
          const edge = svg.getBoundingClientRect().right;
          return [...svg.querySelectorAll('text')].filter((text) => text.getBoundingClientRect().right > edge + 12)
            .length;
        });
        assert.equal(ends, 0);
        await page.getByText('All numbers').focus();
        await page.keyboard.press('Enter');
        assert.equal(await page.locator('.numbers table').first().locator('tbody tr').count(), 4);
      });
    }
  });

  test('what the file does not say stays unknown, and is named', () =>
    withPanel(plain, { state: { view: 'cost' } }, async ({ page }) => {
      await page.locator('h1').getByText('The cost is not known: the file lacks model.hidden_size').waitFor();
      assert.equal(await page.locator('.numbers').count(), 0);
    }));
});

describe('pictures for documents', () => {
  test('what the panel saves is what the command line draws', async () => {
    for (const [view, name] of [
      ['physical', 'where'],
      ['logical', 'structure'],
      ['groups', 'groups'],
      ['cost', 'cost'],
      ['sequence', 'tokens'],
      ['world', 'world'],
    ]) {
      await withPanel(moe, { state: { view } }, async ({ page }) => {
        await openMenu(page, 'More');
        await page.getByRole('button', { name: 'Export SVG' }).click();
        const [{ data }] = await until(
          () => sent(page, 'save'),
          (all) => all.length === 1,
          `the ${view} view is saved`,
        );
        const { stdout } = await command(process.execPath, ['dist/cli.js', 'draw', moeFile, '--view', name], {
          maxBuffer: 2 ** 26,
        });
        assert.equal(data, stdout, view);
      });
    }
  });
});

describe('failed ranks', () => {
  test('dragging marks them, the card says what going on costs, and writing asks the editor', () =>
    withPanel(plain, {}, async ({ page }) => {
      await openMenu(page, 'More');
      await page.getByRole('button', { name: 'Mark failed' }).click();
      await page.getByRole('searchbox').fill('6');
      await page.getByRole('searchbox').press('Enter');
      const canvas = page.locator('.frame canvas');
      const { x, y, width, height } = await canvas.boundingBox();
      await page.mouse.move(x + 5, y + 5);
      await page.mouse.down();
      await page.mouse.move(x + width - 5, y + height - 5, { steps: 4 });
      await page.mouse.up();
      await page.getByText('32 failed ranks').waitFor();
      await page.getByText('Nonuniform TP cannot take these ranks out').waitFor();
      await page.getByRole('button', { name: 'Clear' }).click();
      await canvas.focus();
      await page.keyboard.press('x');
      await page.getByText('1 failed rank', { exact: true }).waitFor();
      const card = await page.locator('.card').textContent();
      assert.match(
        card,
        /Spares2 of 8 slots.*Active TP6 in replica dp 0.*GPUs that stop2.*Compute kept93\.8 %.*hit replicas75\.0 %/,
      );
      await page.getByRole('button', { name: 'Write to file' }).click();
      assert.deepEqual(await sent(page, 'writeFailed'), [{ type: 'writeFailed', ranks: [6] }]);
    }));

  test('one failed rank in a million is seen while the whole world is', () =>
    withPanel(MILLION, { theme: 'light', state: { colour: 'module', failed: [500_123] } }, async ({ page }) => {
      const red = rgbOf(THEMES.light.variables.errorForeground);
      await hasPixels(page, red, 4);
    }));
});

describe('nonuniform TP', () => {
  test('roles are told by colour and by sign, and the splits are listed', () =>
    withPanel(ntp, { state: { view: 'ntp' } }, async ({ page }) => {
      await page.getByRole('heading', { name: 'Replica 0 runs 6 of 8 TP slots' }).waitFor();
      await page.locator('.legend', { hasText: 'failed' }).getByText('✕').waitFor();
      const sends = page.locator('table.matrix', { hasText: 'Send splits' }).first();
      assert.equal(await sends.locator('td').count(), 64);
      const sum = (await sends.locator('td.some').allTextContents()).reduce((n, text) => n + Number(text), 0);
      assert.equal(sum, 12, 'each of the two spare slots sends its six heads away');
      await hasPixels(page, rgbOf('#d55e00'), 501);
    }));
});

describe('smoke results', () => {
  test('a failed group is listed first and found by a click; ranks without a result are not called passed', () =>
    withPanel(moe, { state: { view: 'smoke' } }, async ({ page, send }) => {
      await page.getByRole('button', { name: 'Run Smoke Job' }).click();
      assert.equal((await sent(page, 'runSmokeJob')).length, 1);
      await send(smokeMessage(grid.engine, moe));
      const rows = page.locator('.outcomes tbody tr');
      assert.match(await rows.first().textContent(), /^dp1615.*1/);
      await page.getByRole('button', { name: 'group 2' }).click();
      await details(page).getByText('Rank 2', { exact: true }).waitFor();
      assert.match(await live(page).textContent(), /4 ranks: dp group 2; now at rank 2/);
      await openMenu(page, 'View');
      await page.getByLabel('Process group').selectOption('tp');
      await page.locator('.legend', { hasText: 'result of tp' }).waitFor();
      await hasPixels(page, rgbOf('#009e73'), 5001);
      await page.getByLabel('Show', { exact: true }).selectOption('bandwidth');
      await page.locator('.legend', { hasText: /GB\/s/ }).waitFor();
      await page.getByRole('searchbox').fill('failed');
      await page.getByRole('searchbox').press('Enter');
      await details(page).getByText('Rank 6', { exact: true }).waitFor();
    }));

  test('are shown at once to a person who asks for them', () =>
    withPanel(moe, {}, async ({ page, send }) => {
      await send(smokeMessage(grid.engine, moe));
      assert.equal(await page.getByRole('button', { name: 'Smoke' }).getAttribute('aria-pressed'), 'false');
      await send({ type: 'showSmoke' });
      assert.equal(await page.getByRole('button', { name: 'Smoke' }).getAttribute('aria-pressed'), 'true');
      await page.getByText('Smoke job:').first().waitFor();
    }));
});

describe('comparing', () => {
  test('two layouts stand side by side, and the ranks that differ are counted, listed and marked', () =>
    withPanel(mimo, { state: { colour: 'tp' } }, async ({ page, send }) => {
      const { layout } = grid.engine.layoutMessage(mimo.replace('tp: 2\n    pp: 2', 'tp: 4'), 'b');
      await openMenu(page, 'More');
      await page.getByLabel('Compare with').selectOption('commit');
      assert.deepEqual(await sent(page, 'compare'), [{ type: 'compare', with: 'commit', file: null }]);
      await send({ type: 'base', base: { title: 'the last commit', file: null, layout, problem: null } });
      assert.equal(await page.locator('.frame canvas').count(), 2);
      const card = page.getByRole('region', { name: 'Difference' });
      assert.match(
        await card.textContent(),
        /4 ranks differ.*language: tp 4 → 2, pp 1 → 2.*2 at other coordinates.*2 with other peers.*4 – 7/,
      );
      await card.getByRole('button', { name: 'Next' }).click();
      await details(page).getByText('In the last commit: language').waitFor();
      await page.getByRole('button', { name: 'Table' }).click();
      await page.getByLabel('Rows').selectOption('differs');
      assert.equal(await page.locator('tbody tr').count(), 4);
      await showView(page, 'Where');
      await send({ type: 'base', base: null });
      assert.equal(await page.locator('.frame canvas').count(), 1);
    }));
});

describe('files that are not whole', () => {
  test('the last picture stays, greyed, with the finding; the world is of the text as it is', () =>
    withPanel(mimo, {}, async ({ page, sendText }) => {
      await sendText(mimo.replace('pp: 2', 'pp: 3'));
      await page.locator('.notice', { hasText: 'dense-factorization' }).waitFor();
      assert.equal(await page.locator('.pictures').evaluate((element) => getComputedStyle(element).opacity), '0.45');
      await page.getByRole('button', { name: 'World' }).click();
      const entry = page.locator('.world-entry', { hasText: 'language' });
      await entry.getByText('dense-factorization').waitFor();
      await entry.getByRole('button', { name: /^line/ }).click();
      assert.equal((await sent(page, 'revealLine')).length, 1);
    }));

  test('a file that never was whole is drawn as far as it goes', () =>
    withPanel(mimo.replace('pp: 2', 'pp: 3'), {}, async ({ page }) => {
      await page.locator('.world-entry', { hasText: 'images' }).getByText('0 – 3').waitFor();
    }));

  test('gaps, overlaps and what lies beyond the world are hatched and named', () =>
    withPanel(mimo.replace('rank_offset: 4', 'rank_offset: 3'), { state: { view: 'world' } }, async ({ page }) => {
      await page.locator('.world-row', { hasText: 'no module' }).getByText('7', { exact: true }).waitFor();
      await page.locator('.world-row', { hasText: 'several modules' }).getByText('3', { exact: true }).waitFor();
      await page.locator('.sheet .finding', { hasText: 'world-overlap' }).waitFor();
    }));
});

describe('before the editor has said anything of the file', () => {
  test('nothing is said of it, whatever happens to the panel, and nothing moves when its picture comes', async () => {
    const { page, errors, sendText, close } = await grid.open({});
    try {
      await page.evaluate(() => {
        document.body.dataset.vscodeThemeId = 'Default Dark Modern';
      });
      await page.setViewportSize({ width: 1000, height: 700 });
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      assert.equal((await page.locator('body').innerText()).trim(), '');
      const room = await page.locator('.frame canvas').boundingBox();
      await sendText(plain);
      await page.getByRole('heading', { name: '4 replicas of 1 node each' }).waitFor();
      assert.deepEqual(await page.locator('.frame canvas').boundingBox(), room);
      assert.deepEqual(errors, []);
    } finally {
      await close();
    }
  });
});

describe('what a person chose', () => {
  test('survives hiding and reloading the panel', async () => {
    let saved;
    await withPanel(moe, {}, async ({ page }) => {
      await showView(page, 'Structure');
      await openMenu(page, 'View');
      await page.getByLabel('Across').selectOption('pp');
      await page.getByLabel('Colour', { exact: true }).selectOption('ep');
      await page.locator('.frame canvas').focus();
      await page.keyboard.press('End');
      await page.keyboard.press('x');
      await page.keyboard.press('+');
      await page.keyboard.press('+');
      await page.waitForFunction(() => window.saved.viewport.zoom > 2);
      saved = await page.evaluate(() => window.saved);
    });
    await withPanel(moe, { state: saved }, async ({ page }) => {
      assert.equal(await shownView(page), 'Structure');
      assert.equal(await page.getByLabel('Across').inputValue(), 'pp');
      assert.equal(await page.getByLabel('Colour', { exact: true }).inputValue(), 'ep');
      await details(page).getByText('Rank 63', { exact: true }).waitFor();
      await details(page).getByText('1 failed rank', { exact: true }).waitFor();
      assert.deepEqual(await page.evaluate(() => window.saved), saved);
    });
  });

  test('a state of nonsense is as good as none', () =>
    withPanel(moe, { state: { view: 7, rank: -3, failed: 'x', viewport: { zoom: 'a' } } }, ({ page }) =>
      details(page).getByText('64 ranks').waitFor(),
    ));
});

describe('themes', () => {
  for (const theme of Object.keys(THEMES)) {
    test(`${theme}: fills, outlines and text stand out from the ground`, () =>
      withPanel(moe, { theme, state: { colour: 'pp', rank: 3 } }, async ({ page }) => {
        await page.screenshot({ path: `artifacts/panel-${theme}.png` });
        const ground = rgbOf(THEMES[theme].variables['editor-background']);
        for (const fill of ['#56b4e9', '#e69f00', '#009e73', '#f0e442'].map(rgbOf)) {
          await hasPixels(page, fill, 2001);
        }
        const colours = await page.evaluate(() => {
          const probe = document.createElement('span');
          document.body.append(probe);
          const value = (name) => {
            probe.style.color = `var(--grid-${name})`;
            const canvas = document.createElement('canvas').getContext('2d');
            canvas.fillStyle = getComputedStyle(probe).color;
            canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data];
          };
          return { outline: value('outline'), box: value('box'), foreground: value('foreground') };
        });
        assert.ok(contrast(colours.outline, ground) >= 3, `outline ${contrast(colours.outline, ground)}`);
        assert.ok(contrast(colours.box, ground) >= 3, `box ${contrast(colours.box, ground)}`);
        assert.ok(contrast(colours.foreground, ground) >= 4.5);
      }));
  }

  test('a ramp stands out from the ground at both of its ends', async () => {
    for (const theme of ['dark', 'light']) {
      await withPanel(
        layoutText('ramp', 64, { tp: 8, pp: 16 }),
        { theme, state: { colour: 'pp' } },
        async ({ page }) => {
          const ground = rgbOf(THEMES[theme].variables['editor-background']);
          const gradient = await page.locator('.ramp').evaluate((ramp) => ramp.style.backgroundImage);
          const colours = gradient.match(/rgb\([^)]*\)/g);
          for (const colour of [colours[0], colours.at(-1)]) {
            const seen = contrast(colour.match(/\d+/g).map(Number), ground);
            assert.ok(seen >= 1.4, `${theme}: ${colour} ${seen}`);
          }
        },
      );
    }
  });

  test('a change of theme is drawn at once', () =>
    withPanel(layoutText('ramp', 64, { tp: 8, pp: 16 }), { state: { colour: 'pp' } }, async ({ page }) => {
      const dark = await page.locator('.ramp').evaluate((ramp) => ramp.style.backgroundImage);
      await page.evaluate(() => {
        document.body.className = 'vscode-light';
        document.body.dataset.vscodeThemeId = 'Default Light Modern';
      });
      await page.waitForFunction((before) => document.querySelector('.ramp').style.backgroundImage !== before, dark);
    }));
});

describe('every size', () => {
  for (const [name, width, height, scale] of [
    ['narrow', 420, 700, 1],
    ['zoomed to 200 %', 640, 420, 2],
  ]) {
    test(`${name}: nothing is cut off to the side, and the picture keeps room`, () =>
      withPanel(moe, { width, height, scale, state: { rank: 9 } }, async ({ page }) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
        const box = await page.locator('.frame canvas').boundingBox();
        assert.ok(box.width > 180 && box.height >= 240, JSON.stringify(box));
        const sharp = await page.locator('.frame canvas').evaluate((canvas) => canvas.width / canvas.clientWidth);
        assert.ok(Math.abs(sharp - scale) < 0.02, `${sharp} pixels of the picture to one of the page`);
      }));
  }

  test('a view without a picture begins under its headline', () =>
    withPanel(moe, {}, async ({ page }) => {
      for (const name of ['Table', 'World', 'Run']) {
        await showView(page, name);
        const headline = await page.locator('.headline').boundingBox();
        const content = await page.locator('.content').boundingBox();
        assert.ok(content.y - headline.y - headline.height < 2, name);
      }
    }));

  test('at a million ranks the pointer finds its rank, and the table has all', () =>
    withPanel(MILLION, { state: { colour: 'pp' } }, async ({ page }) => {
      const { x, y, width, height } = await page.locator('.frame canvas').boundingBox();
      await page.mouse.move(x + width / 2 + 40, y + height / 2 + 60);
      await details(page)
        .getByText(/^Rank [\d,]+$/)
        .waitFor();
      const [red, green, blue, alpha] = await pixel(page, width / 2 + 40, height / 2 + 60);
      assert.ok(alpha === 255 && red + green + blue > 0);
      await page.getByRole('button', { name: 'Table' }).click();
      await page.getByRole('button', { name: 'Last' }).click();
      await page.getByRole('button', { name: '1,048,575', exact: true }).waitFor();
    }));
});

describe('a million ranks', () => {
  test('of groups too small to be told apart one is shown, and the legend says so', () =>
    withPanel(MILLION, { state: { view: 'groups', group: 'dp' } }, async ({ page }) => {
      await page.locator('.legend').getByText('one of 1,024 is shown').waitFor();
      await hasPixels(page, rgbOf('#e69f00'), 500);
      for (const hue of ['#d55e00', '#009e73', '#f0e442']) {
        assert.equal(await pixelsOf(page, rgbOf(hue)), 0);
      }
    }));

  /** A number for all that the canvas shows. */
  const shown = `(() => {
    const canvas = document.querySelector('.frame canvas');
    const words = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return words.reduce((hash, word) => (Math.imul(hash, 31) + word) | 0, 7);
  })()`;
  /** Waits until nothing has changed for so many frames: what is painted bit by bit changes with each of them. */
  const settled = (page) =>
    page.evaluate(`new Promise((done) => {
      let last = null;
      let same = 0;
      (function look() {
        const now = ${shown};
        same = now === last ? same + 1 : 0;
        last = now;
        same < 20 ? requestAnimationFrame(look) : done(now);
      })();
    })`);
  const choose = (page, ...colours) =>
    page.evaluate((all) => {
      for (const colour of all) {
        const picker = document.querySelector('select[aria-label="Colour"]');
        picker.value = colour;
        picker.dispatchEvent(new Event('change'));
      }
    }, colours);

  test('other colours take the place of the old ones in one go, and superseded ones are never shown', () =>
    withPanel(MILLION, { state: { colour: 'pp' } }, async ({ page }) => {
      const old = await settled(page);
      await page.evaluate(`window.frames_ = []; (function look() {
        window.frames_.push(${shown});
        requestAnimationFrame(look);
      })()`);
      await choose(page, 'cp', 'tp', 'node', 'dp');
      await page.locator('.legend').getByText('dp 1023').waitFor();
      const last = await settled(page);
      assert.notEqual(last, old);
      const seen = await page.evaluate(() => window.frames_);
      assert.deepEqual([...new Set(seen)], [old, last]);
      assert.equal(seen.lastIndexOf(old) + 1, seen.indexOf(last));
    }));

  test('what is painted bit by bit while a person zooms is what is painted at once', () =>
    withPanel(MILLION, { state: { colour: 'dp' } }, async ({ page }) => {
      await page.locator('.frame canvas').focus();
      for (let i = 0; i < 9; i++) {
        await page.keyboard.press('+');
      }
      await page.waitForFunction(() => window.saved.viewport.zoom > 20);
      await settled(page);
      const { viewport } = await page.evaluate(() => window.saved);
      const bits = await page.locator('.frame canvas').evaluate((canvas) => canvas.toDataURL());
      await withPanel(MILLION, { state: { colour: 'dp', viewport } }, async ({ page: other }) => {
        await settled(other);
        const unlike = await other.evaluate(async (url) => {
          const canvas = document.querySelector('.frame canvas');
          const image = new Image();
          image.src = url;
          await image.decode();
          const copy = document.createElement('canvas');
          copy.width = canvas.width;
          copy.height = canvas.height;
          copy.getContext('2d').drawImage(image, 0, 0);
          const [one, two] = [copy, canvas].map(
            (each) => each.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data,
          );
          return one.filter((value, i) => Math.abs(value - two[i]) > 8).length / one.length;
        }, bits);
        assert.ok(unlike < 0.001, `${100 * unlike} % differ`);
      });
    }));

  test('ranks of another layout come beside it, and those that differ are counted', () =>
    withPanel(MILLION, { state: { colour: 'pp' } }, async ({ page, send }) => {
      const text = layoutText('million', 131_072, { tp: 8, pp: 16, cp: 4 });
      const { layout } = grid.engine.layoutMessage(text, 'before');
      await send({ type: 'base', base: { title: 'the last commit', file: null, layout, problem: null } });
      await details(page).getByText('1,048,576 ranks differ').waitFor();
      await settled(page);
      for (const canvas of await page.locator('.frame canvas').all()) {
        const colours = await canvas.evaluate((one) => {
          const { data } = one.getContext('2d').getImageData(0, 0, one.width, one.height);
          return new Set(new Uint32Array(data.buffer)).size;
        });
        assert.ok(colours >= 16, `${colours} colours`);
      }
    }));
});

test('messages that are none leave the panel as it is', () =>
  withPanel(mimo, {}, async ({ page, send }) => {
    for (const nonsense of [
      null,
      'layout',
      { type: 'layout' },
      { type: 'layout', layout: { worldSize: 'a' } },
      { type: 'smoke' },
    ]) {
      await send(nonsense);
    }
    await details(page).getByText('8 ranks').waitFor();
  }));

test('nothing piles up while texts, views and results come and go', () =>
  withPanel(moe, {}, async ({ page, send, sendText }) => {
    const session = await page.context().newCDPSession(page);
    const rounds = async (count) => {
      for (let i = 0; i < count; i++) {
        await sendText(i % 2 ? moe : mimo);
        await send(smokeMessage(grid.engine, i % 2 ? moe : mimo));
        for (const name of ['Structure', 'World', 'Smoke', 'Table', 'Where']) {
          await page.evaluate(
            (label) => [...document.querySelectorAll('.tab')].find((tab) => tab.textContent === label).click(),
            name,
          );
        }
      }
      await session.send('HeapProfiler.collectGarbage');
      const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      return { nodes, jsEventListeners, kilobytes: usedSize / 1024 };
    };
    const before = await rounds(10);
    const after = await rounds(40);
    assert.ok(after.nodes <= before.nodes + 200, JSON.stringify({ before, after }));
    assert.ok(after.jsEventListeners <= before.jsEventListeners + 50, JSON.stringify({ before, after }));
    assert.ok(after.kilobytes <= before.kilobytes + 1024, JSON.stringify({ before, after }));
  }));
