// Pictures of the panel at every size and in every theme, to look at: `node test/grid/screenshots.mjs [FOLDER]`.
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { layoutText, startGrid, THEMES } from './page.mjs';

const folder = process.argv[2] ?? 'artifacts/grid';
const example = (name) => readFile(new URL(`../../examples/${name}.layout.yaml`, import.meta.url), 'utf8');

const pictures = [
  { name: 'mimo-8', text: await example('mimo-8gpu'), themes: Object.keys(THEMES) },
  { name: 'moe-64', text: await example('moe-64gpu'), state: { colour: 'pp' }, themes: Object.keys(THEMES) },
  { name: 'moe-64-logical', text: await example('moe-64gpu'), state: { view: 'logical', colour: 'dp' } },
  {
    name: 'moe-64-groups',
    text: await example('moe-64gpu'),
    state: { view: 'groups', group: 'dp' },
    hover: [500, 300],
  },
  { name: 'moe-64-sequence', text: await example('moe-64gpu'), state: { view: 'sequence' } },
  {
    name: 'sequence-cp',
    text: layoutText('zigzag', 2, { cp: 4, tp: 2 }, 'sequence:\n  seq_length: 8192\n'),
    state: { view: 'sequence' },
    themes: ['light'],
  },
  { name: 'ntp-64', text: await example('ntp-64gpu'), state: { colour: 'ntp' } },
  { name: 'mimo-8-world', text: await example('mimo-8gpu'), state: { view: 'world' } },
  {
    name: 'ranks-512',
    text: layoutText('ranks-512', 64, { tp: 8, pp: 4 }),
    state: { colour: 'pp' },
    hover: [500, 300],
  },
  { name: 'ranks-16k', text: layoutText('ranks-16k', 2048, { tp: 8, pp: 16, cp: 2 }), state: { colour: 'pp' } },
  {
    name: 'ranks-131k',
    text: layoutText('ranks-131k', 16384, { tp: 8, pp: 16, cp: 4 }),
    state: { view: 'logical', colour: 'dp' },
  },
  { name: 'ranks-1m', text: layoutText('ranks-1m', 131072, { tp: 8, pp: 32, cp: 4 }), state: { colour: 'dp' } },
];

const grid = await startGrid();
try {
  await mkdir(folder, { recursive: true });
  for (const { name, text, state, hover, themes = ['dark'] } of pictures) {
    for (const theme of themes) {
      const { page, errors, sendText } = await grid.open({ theme, state });
      await sendText(text);
      if (hover) {
        await page.mouse.move(...hover);
        await page.waitForTimeout(60);
      }
      await page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
      for (const error of errors) {
        console.error(`${name} ${theme}:`, error);
      }
      await page.close();
    }
  }
} finally {
  await grid.close();
}
