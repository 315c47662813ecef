// The pictures of README.md and docs/rank-grid.md, made by the product: `npm run pictures:readme` after `npm run package`.
// Stills are of the panel; the animation is of the real workbench: a wrong `tp`, the group of a rank, and the rank that hangs a run.
// Needs ImageMagick and img2webp.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FrameLocator, Locator } from 'playwright-core';
import { importSource } from '../../scripts/source.mts';
import { Workbench } from '../harness/workbench.ts';
import { openMenu, showView } from './controls.ts';
import { layoutText, startGrid } from './page.ts';

const MEDIA = resolve(import.meta.dirname, '../../media');
const EDITOR_THEMES = { dark: 'Default Dark Modern', light: 'Default Light Modern' } as const;
const THEMES = ['dark', 'light'] as const;
const moe = await readFile(new URL('../../examples/moe-64gpu.layout.yaml', import.meta.url), 'utf8');

const STILLS = [
  {
    name: 'rank-grid',
    text: layoutText('large', 2048, { tp: 8, cp: 2, pp: 16 }, 'model: {num_layers: 128}\n'),
    state: { rank: 5000 },
  },
  { name: 'rank-grid-groups', text: moe, state: { view: 'groups', group: 'dp', rank: 24 } },
  { name: 'rank-grid-cost', text: moe, state: { view: 'cost' }, height: 890 },
];

/** The layout that is edited in the animation, and what is typed for `tp`, one after another. */
const EDITED = `layout: 1
name: demo

cluster:
  nodes: 8
  gpus_per_node: 8

parallelism:
  tp: 4
  pp: 2

model:
  num_layers: 64
  num_attention_heads: 64
`;
const TYPED = ['4', '3', '8'] as const;

/** The rank whose group is looked at, and the one that hangs the run. */
const [LOOKED_AT, HUNG] = [21, 37];

/** How long a picture of the animation is shown, in milliseconds; answers longer. */
const STEP = 1300;
const ANSWER = 2400;

const { check } = await importSource<typeof import('../../layout')>('layout/index.ts');
const { resolvedOf, simulate, writeDumps } =
  await importSource<typeof import('../harness/simulatedRun')>('test/harness/simulatedRun.ts');

const convert = (...args: readonly string[]) => execFileSync('convert', args);
const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-readme-'));
try {
  await stills();
  for (const theme of THEMES) {
    await animation(theme);
  }
} finally {
  rmSync(work, { recursive: true });
}

async function stills(): Promise<void> {
  const grid = await startGrid();
  try {
    for (const { name, text, state, height = 680 } of STILLS) {
      for (const theme of THEMES) {
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
async function settled(part: Locator): Promise<void> {
  let last: Buffer | null = null;
  for (let now = await part.screenshot(); last === null || !now.equals(last); now = await part.screenshot()) {
    last = now;
    await part.page().waitForTimeout(400);
  }
}

async function animation(theme: (typeof THEMES)[number]): Promise<void> {
  const folder = join(work, theme);
  execFileSync('mkdir', [folder]);
  writeFileSync(join(folder, 'demo.layout.yaml'), EDITED);
  const workbench = new Workbench();
  try {
    await workbench.open({
      folder,
      theme: EDITOR_THEMES[theme],
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
    await showView(workbench.grid, 'Where');
    await workbench.grid.locator('.summary').getByText('64 ranks').waitFor();
    await workbench.command('View: Close Primary Side Bar');
    await workbench.command('Notifications: Clear All Notifications');
    const frames: string[] = [];
    const shoot = async (time: number) => {
      await settled(workbench.page.locator('.monaco-workbench'));
      const file = join(work, `${theme}-${frames.length}.png`);
      await workbench.page.screenshot({ path: file });
      frames.push('-d', String(time), file);
    };
    let before: string = TYPED[0];
    await shoot(STEP);
    for (const degree of TYPED.slice(1)) {
      await workbench.typeOver(`tp: ${before}`, before, degree);
      before = degree;
      await shoot(STEP);
    }
    await lookAt(workbench.grid);
    await shoot(ANSWER);
    // deselect the rank
    await workbench.grid.locator('.frame canvas').press('Escape');
    await workbench.grid.locator('body').evaluate(dropFolder, pathToFileURL(dumps(folder)).href);
    await workbench.grid
      .getByRole('heading', { name: `Rank ${HUNG} (` })
      .first()
      .waitFor();
    await workbench.command('Notifications: Clear All Notifications');
    await shoot(ANSWER);
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

/** Shows the data-parallel groups, and points at a rank. */
async function lookAt(grid: FrameLocator): Promise<void> {
  await showView(grid, 'Groups');
  await openMenu(grid, 'View');
  await grid.getByLabel('Process group').selectOption('dp');
  await grid.locator('summary', { hasText: 'View' }).click();
  await grid.locator('.find').fill(String(LOOKED_AT));
  await grid.locator('.find').press('Enter');
  await grid.locator('.find').fill('');
}

/** The dumps of a run of the edited layout in which one rank sleeps before an all-reduce. */
function dumps(folder: string): string {
  const text = EDITED.replace(`tp: ${TYPED[0]}`, `tp: ${TYPED[2]}`);
  const path = join(folder, 'dumps');
  const fault = { rank: HUNG, kind: 'sleep', step: 1, at: 'tp' } as const;
  writeDumps(path, simulate(resolvedOf(check(text)), { faults: [fault], steps: 2 }));
  return path;
}

/** Runs in the panel: a folder is dropped on it. */
function dropFolder(_: Element, address: string): void {
  const dataTransfer = new DataTransfer();
  dataTransfer.setData('text/uri-list', address);
  window.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
}
