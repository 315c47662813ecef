// Pictures of the panel, to look at: every view at every size of world, and its states in every window and theme.
// `npm run pictures [-- FOLDER [NAME...]]`: FOLDER is artifacts/grid unless it is given; NAMEs may be beginnings.
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { drawn, type GridOptions, layoutText, startGrid } from './page.ts';
import { smokeMessage } from './smokeResults.ts';
import { THEME_NAMES as ALL, type ThemeName } from './themes.ts';

const [folder = 'artifacts/grid', ...wanted] = process.argv.slice(2);
const example = (name: string) => readFile(new URL(`../../examples/${name}.layout.yaml`, import.meta.url), 'utf8');

const mimo = await example('mimo-8gpu');
const moe = await example('moe-64gpu');
const ntp = await example('ntp-64gpu');
const packed =
  'layout: 1\nname: packed\nworld_size: 62\nparallelism: {tp: 8}\nmodel: {num_attention_heads: 48}\nntp:\n  tp_spares: 2\n  placement: packed\n  failed_ranks: [3, 6]\n  non_active_ranks_per_dp: [{dp: 0, local_ranks: [3, 6]}]\n';
const colocated =
  'layout: 1\nname: colocated\nworld_size: 8\nmodules:\n  images: {num_ranks: 8, tp: 2}\n  language: {num_ranks: 8, tp: 4, pp: 2}\n';

const MODEL = `model: {num_layers: 128, hidden_size: 8192, ffn_hidden_size: 28672, num_attention_heads: 64, num_query_groups: 8, vocab_size: 128256, gated_linear_unit: true, add_bias_linear: false, position_embedding_type: rope}
sequence: {seq_length: 8192, sequence_parallel: true}
optimizer: {use_distributed_optimizer: true}
`;

/** A world of every size with a model, so that every view has something to show. */
const WORLDS = {
  8: { nodes: 1, degrees: { tp: 4 }, batch: 16 },
  64: { nodes: 8, degrees: { tp: 4, pp: 4 }, batch: 64 },
  '1k': { nodes: 128, degrees: { tp: 8, cp: 2, pp: 8 }, batch: 256 },
  '16k': { nodes: 2048, degrees: { tp: 8, cp: 2, pp: 16 }, batch: 1024 },
  '131k': { nodes: 16_384, degrees: { tp: 8, cp: 4, pp: 16 }, batch: 4096 },
  '1m': { nodes: 131_072, degrees: { tp: 8, cp: 4, pp: 32 }, batch: 16_384 },
};

/** A picture: what is sent to the panel one after another, and the window. */
interface Shot extends Omit<GridOptions, 'theme'> {
  readonly name: string;
  readonly text: string;
  readonly broken?: string;
  readonly base?: string;
  /** Whether the base gives its numbers alone, as the saved file does. */
  readonly savedOnly?: boolean;
  /** The change that is looked at: its place in the list. */
  readonly change?: number;
  readonly smoke?: boolean;
  readonly run?: object;
  readonly hover?: readonly [number, number];
  readonly themes?: readonly ThemeName[];
}

const worldText = (size: keyof typeof WORLDS) => {
  const { nodes, degrees, batch } = WORLDS[size];
  const text = layoutText(
    `ranks-${size}`,
    nodes,
    degrees,
    `${MODEL}batch: {micro_batch_size: 1, global_batch_size: ${batch}}\n`,
  );
  return text.replace('gpus_per_node: 8', 'gpus_per_node: 8\n  gpu: H100-80GB');
};

const VIEWS = ['physical', 'logical', 'groups', 'cost', 'sequence', 'world', 'table'];
const WINDOWS = {
  wide: { width: 1600, height: 900 },
  narrow: { width: 360, height: 700 },
  tall: { width: 700, height: 1300 },
};

/** What is chosen for a view. */
const stateOf = (view: string) => ({ view, rank: 9, ...(view === 'groups' ? { group: 'dp' } : {}) });

/** Every view at every size in every window. */
const matrix = ([8, 64, '1k', '16k', '131k', '1m'] as const).flatMap((size): Shot[] =>
  VIEWS.flatMap((view) =>
    Object.entries(WINDOWS).map(([name, window]) => ({
      name: `all-${name}-${view}-${size}`,
      text: worldText(size),
      state: { ...stateOf(view), rank: -1 },
      ...window,
    })),
  ),
);

const largeText = (nodes: number, degrees: Readonly<Record<string, number>>) =>
  layoutText(`ranks-${nodes * 8}`, nodes, degrees);

const million = largeText(131_072, { tp: 8, pp: 32, cp: 4 });

/** The widths of the panel: beside an editor, beside one and a side bar, and narrowest. */
const TRADEOFF_WIDTHS = { wide: [1280, 800], half: [541, 760], narrow: [316, 640] } as const;

const states: readonly Shot[] = [
  ...Object.entries(TRADEOFF_WIDTHS).map(([name, [width, height]]) => ({
    name: `tradeoffs-${name}`,
    text: moe,
    base: moe.replace('tp: 4', 'tp: 8'),
    savedOnly: true,
    change: 2,
    width,
    height,
    state: { view: 'tradeoffs' },
    themes: ALL,
  })),
  { name: 'half-8', text: mimo, state: { view: 'physical', rank: 5 }, width: 541, height: 760 },
  { name: 'half-64', text: moe, state: { view: 'physical', colour: 'pp', rank: 9 }, width: 541, height: 760 },
  { name: 'least-64', text: moe, state: { view: 'physical', colour: 'pp', rank: 9 }, width: 316, height: 640 },
  { name: 'tradeoffs-unknown', text: mimo, state: { view: 'tradeoffs' }, width: 541 },
  {
    name: 'tradeoffs-wrong',
    text: moe,
    broken: moe.replace('pp: 4', 'pp: 3'),
    state: { view: 'tradeoffs' },
    width: 541,
  },
  { name: 'tradeoffs-200', text: moe, state: { view: 'tradeoffs' }, width: 640, height: 420, scale: 2 },
  { name: 'mimo-8', text: mimo, themes: ALL },
  { name: 'moe-64', text: moe, state: { colour: 'pp' }, themes: ALL },
  { name: 'moe-64-logical', text: moe, state: { view: 'logical', colour: 'dp' } },
  { name: 'moe-64-expert', text: moe, state: { view: 'logical', colour: 'ep', grid: 'expert' } },
  { name: 'mimo-8-logical', text: mimo, state: { view: 'logical' } },
  { name: 'colocated-logical', text: colocated, state: { view: 'logical', module: 'language', colour: 'tp' } },
  {
    name: 'moe-64-groups',
    text: moe,
    state: { view: 'groups', group: 'dp' },
    hover: [500, 300],
    themes: ['dark', 'light'],
  },
  {
    name: 'sequence-cp',
    text: layoutText('zigzag', 2, { cp: 4, tp: 2 }, 'sequence:\n  seq_length: 8192\n'),
    state: { view: 'sequence' },
    themes: ['light'],
  },
  { name: 'ntp-64', text: ntp, state: { view: 'ntp' }, themes: ALL },
  { name: 'ntp-packed', text: packed, state: { view: 'ntp' } },
  { name: 'moe-64-failed', text: ntp.replace(/ntp:[\s\S]*/, ''), state: { failed: [5, 14], rank: 5 } },
  { name: 'smoke-64', text: moe, state: { view: 'smoke' }, smoke: true, themes: ALL },
  { name: 'smoke-64-bandwidth', text: moe, state: { view: 'smoke', measure: 'bandwidth', group: 'dp' }, smoke: true },
  { name: 'smoke-none', text: moe, state: { view: 'smoke' } },
  { name: 'mimo-8-world', text: mimo, state: { view: 'world' }, themes: ['dark', 'high-contrast-light'] },
  {
    name: 'world-faults',
    text: mimo.replace('rank_offset: 0', 'rank_offset: 1').replace('rank_offset: 4', 'rank_offset: 3'),
    state: { view: 'world' },
    themes: ['dark', 'light'],
  },
  { name: 'stale', text: mimo, broken: mimo.replace('pp: 2', 'pp: 3'), themes: ['dark', 'light'] },
  {
    name: 'compare-64',
    text: moe,
    base: moe.replace('pp: 4', 'pp: 2'),
    state: { colour: 'pp' },
    themes: ['dark', 'light'],
  },
  { name: 'table-64', text: ntp, state: { view: 'table', rank: 6 }, themes: ['dark', 'high-contrast'] },
  {
    name: 'nvl72',
    text: 'layout: 1\nname: nvl72\nworld_size: 288\ncluster: {nodes: 72, gpus_per_node: 4, gpus_per_nvlink_domain: 72}\nparallelism: {tp: 4, pp: 6}\n',
    state: { colour: 'pp' },
  },
  {
    name: 'nvl4',
    text: 'layout: 1\nname: nvl4\nworld_size: 32\ncluster: {nodes: 4, gpus_per_node: 8, gpus_per_nvlink_domain: 4}\nparallelism: {tp: 4}\n',
    state: { colour: 'tp' },
  },
  { name: 'ranks-512', text: largeText(64, { tp: 8, pp: 4 }), state: { colour: 'pp' }, hover: [500, 300], themes: ALL },
  { name: 'ranks-16k', text: largeText(2048, { tp: 8, pp: 16, cp: 2 }), state: { colour: 'pp' }, themes: ALL },
  {
    name: 'ranks-131k',
    text: largeText(16_384, { tp: 8, pp: 16, cp: 4 }),
    state: { view: 'logical', colour: 'dp' },
    themes: ALL,
  },
  { name: 'ranks-1m', text: million, state: { colour: 'dp' }, themes: ALL },
  {
    name: 'ranks-1m-zoomed',
    text: million,
    state: { colour: 'dp', viewport: { zoom: 50, x: 0.4, y: 0.4 } },
  },
  { name: 'ranks-1m-failed', text: million, state: { colour: 'pp', failed: [500_123] }, themes: ['light'] },
  {
    name: 'ranks-1k-groups',
    text: largeText(128, { tp: 8, pp: 8 }),
    state: { view: 'groups', group: 'dp' },
    themes: ALL,
  },
  {
    name: 'run-64',
    text: layoutText('run', 8, { tp: 8, pp: 2 }),
    state: { view: 'run' },
    run: {
      verdict: 'hang',
      culprits: [
        { rank: 37, confidence: 0.9, because: ['7 members of tp group 4 entered all_reduce #1204, rank 37 did not'] },
      ],
      victims: Array.from({ length: 64 }, (_, rank) => rank)
        .filter((rank) => rank !== 37)
        .map((rank) => ({
          rank,
          waits_for: rank >= 32 && rank < 40 ? [37] : [rank % 32],
          group: 'dp',
          op: 'all_reduce',
          seq: 398,
        })),
      groups: { equal: 12, different: [] },
      unseen: [],
      why: ['every other waiting rank waits, in the end, for this group'],
    },
    themes: ALL,
  },
  { name: 'narrow', text: moe, state: { colour: 'pp', rank: 9 }, width: 560, height: 760 },
  ...VIEWS.flatMap((view) => [
    { name: `themes-${view}`, text: moe, state: stateOf(view), width: 1200, height: 800, themes: ALL },
    { name: `zoom-200-${view}`, text: moe, state: stateOf(view), width: 720, height: 450, scale: 2 },
  ]),
  { name: 'cost-base', text: moe, base: moe.replace('tp: 4', 'tp: 8'), savedOnly: true, state: { view: 'cost' } },
  { name: 'cost-unknown', text: layoutText('small', 1, { tp: 4 }), state: { view: 'cost' } },
  { name: 'cost-over', text: worldText(64).replace('pp: 4', 'pp: 1'), state: { view: 'cost' }, themes: ALL },
];

const pictures = [...states, ...matrix];

const grid = await startGrid();
try {
  await mkdir(folder, { recursive: true });
  const chosen = pictures.filter(({ name }) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)));
  for (const {
    name,
    text,
    broken,
    base,
    savedOnly,
    change,
    smoke,
    run,
    hover,
    themes = ['dark' as const],
    ...options
  } of chosen) {
    for (const theme of themes) {
      const { page, errors, send, sendText, close } = await grid.open({ ...options, theme });
      await sendText(text);
      if (options.state === undefined || Reflect.get(Object(options.state), 'view') === 'tradeoffs') {
        await send(grid.engine.tradeoffsMessage(text));
      }
      if (broken) {
        await sendText(broken);
      }
      if (smoke) {
        await send(smokeMessage(grid.engine, text));
      }
      if (run) {
        await send({ type: 'run', report: run });
      }
      if (base) {
        const found = grid.engine.baseOf(base, 'the last commit');
        await send({ type: 'base', base: savedOnly ? { ...found, title: 'the saved file', layout: null } : found });
        await send(grid.engine.layoutMessage(text, 'a.layout.yaml', base));
      }
      if (change !== undefined) {
        await page.locator('.change-row').nth(change).click();
      }
      if (hover) {
        await page.mouse.move(...hover);
      }
      await drawn(page);
      await page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
      for (const error of errors) {
        console.error(`${name} ${theme}:`, error);
      }
      await close();
    }
  }
} finally {
  await grid.close();
}
