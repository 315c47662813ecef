// The pictures of README.md and docs/rank-grid.md, made by the product: `npm run pictures:readme` after `npm run package`.
// Stills are of the panel; the animation is of the real workbench, while `tp` is edited. Needs ImageMagick and img2webp.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Workbench } from '../harness/workbench.ts';
import { layoutText, startGrid } from './page.mjs';

const MEDIA = new URL('../../media/', import.meta.url).pathname;
const EDITOR_THEMES = { dark: 'Default Dark Modern', light: 'Default Light Modern' };
const moe = await readFile(new URL('../../examples/moe-64gpu.layout.yaml', import.meta.url), 'utf8');

const STILLS = [
  {
    name: 'rank-grid',
    text: layoutText('large', 2048, { tp: 8, cp: 2, pp: 16 }, 'model: {num_layers: 128}\n'),
    state: { rank: 5000 },
  },
  { name: 'rank-grid-groups', text: moe, state: { view: 'groups', group: 'dp', rank: 24 } },
  { name: 'rank-grid-cost', text: moe, state: { view: 'cost' }, height: 820 },
];

/** The layout that is edited in the animation, and what is typed for `tp`, one after another. */
const EDITED = `layout: 1
name: demo

cluster:
  nodes: 4
  gpus_per_node: 8

parallelism:
  tp: 2
  pp: 4

model:
  num_layers: 32
  num_attention_heads: 32
`;
const TYPED = ['2', '4', '3', '8'];

/** How long a picture of the animation is shown, in milliseconds; the last one longer. */
const STEP = 1300;
const LAST = 2200;

const convert = (...args) => execFileSync('convert', args);
const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-readme-'));
try {
  await stills();
  for (const [theme, name] of Object.entries(EDITOR_THEMES)) {
    await animation(theme, name);
  }
} finally {
  rmSync(work, { recursive: true });
}

async function stills() {
  const grid = await startGrid();
  try {
    for (const { name, text, state, height = 680 } of STILLS) {
      for (const theme of Object.keys(EDITOR_THEMES)) {
        const { page, sendText, close } = await grid.open({ theme, state, width: 1180, height, scale: 1.5 });
        await sendText(text);
        await settled(page.locator('body'));
        const file = join(work, `${name}.png`);
        await page.screenshot({ path: file });
        convert(file, '+dither', '-colors', '160', '-strip', `PNG8:${join(MEDIA, `${name}-${theme}.png`)}`);
        await close();
      }
    }
  } finally {
    await grid.close();
  }
}

/** Waits until a picture does not change any more: large ones are drawn bit by bit. */
async function settled(part) {
  let last = null;
  for (let now = await part.screenshot(); last === null || !now.equals(last); now = await part.screenshot()) {
    last = now;
    await part.page().waitForTimeout(400);
  }
}

async function animation(theme, colorTheme) {
  const folder = join(work, theme);
  execFileSync('mkdir', [folder]);
  writeFileSync(join(folder, 'demo.layout.yaml'), EDITED);
  const workbench = new Workbench();
  try {
    await workbench.open({
      folder,
      theme: colorTheme,
      width: 1200,
      height: 620,
      settings: {
        'editor.fontSize': 15,
        'editor.lineNumbers': 'off',
        'editor.occurrencesHighlight': 'off',
        'workbench.activityBar.location': 'hidden',
        'workbench.layoutControl.enabled': false,
        'window.commandCenter': false,
        'breadcrumbs.enabled': false,
      },
    });
    await workbench.openFile('demo.layout.yaml');
    await workbench.command('Parallelism Layout: Show Rank Grid');
    await workbench.grid.locator('.summary').getByText('32 ranks').waitFor();
    await workbench.command('View: Close Primary Side Bar');
    await workbench.command('Notifications: Clear All Notifications');
    const frames = [];
    let before = TYPED[0];
    for (const [i, degree] of TYPED.entries()) {
      if (i > 0) {
        await workbench.typeOver(`tp: ${before}`, before, degree);
        before = degree;
      }
      await settled(workbench.page.locator('.monaco-workbench'));
      const file = join(work, `${theme}-${i}.png`);
      await workbench.page.screenshot({ path: file });
      frames.push('-d', String(i === TYPED.length - 1 ? LAST : STEP), file);
    }
    execFileSync('img2webp', [
      '-loop',
      '0',
      '-lossy',
      '-q',
      '70',
      '-m',
      '6',
      ...frames,
      '-o',
      join(MEDIA, `editing-${theme}.webp`),
    ]);
  } finally {
    await workbench.close();
  }
}
