import { describe, expect, test } from 'vitest';
import type { ResolvedLayout } from '../layout';
import { differenceOf } from './difference';
import { type DrawingId, drawingOf, USUAL_CHOICE } from './drawing';
import { svgOf } from './svg';
import { csvOf } from './table';
import { modulesOf, onNodes, PACKED, resolved } from './testing';

const MOE = onNodes(8, 'tp: 4, pp: 4');

const drawn = (layout: ResolvedLayout, id: DrawingId, choice = {}, name = 'moe', failed: number[] = []) =>
  svgOf({ ...drawingOf(layout, id, { ...USUAL_CHOICE, ...choice }), layout, name, failed });

const texts = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);

describe('pictures as SVG', () => {
  test('hold the title, the degrees, every rank and the whole legend', () => {
    const svg = drawn(MOE, 'physical', {}, 'moe', [3]);
    const all = texts(svg);
    expect(all.slice(0, 2)).toEqual([
      '4 pipeline stages of 2 nodes each; tensor parallelism stays inside every node.',
      'moe · 64 ranks on 8 nodes of 8 GPUs · tp 4 × dp 4 × pp 4',
    ]);
    for (let rank = 0; rank < 64; rank++) {
      expect(all).toContain(String(rank));
    }
    expect(all.slice(-7)).toEqual([
      'pp',
      'pp 0',
      'pp 1',
      'pp 2',
      'pp 3',
      '1 failed',
      'boxes: stage › node; cells: GPU',
    ]);
  });

  test.each([
    ['dp', ['dp groups', 'one of 256 is shown', 'group 153: ranks 9,225, 9,241, …, 10,233']],
    ['pp', ['pp groups', 'one of 1,024 is shown', 'group 614: ranks 614, 1,638, …, 15,974', 'leaves the node']],
    // blocks of eight GPUs are told apart by their colours
    ['tp', ['tp groups', '2,048 in all, neighbours differ in colour']],
  ])('groups of %s that colours cannot tell apart give way to one of them', (group, legend) => {
    const layout = onNodes(2048, 'tp: 8, cp: 2, pp: 16');
    expect(texts(drawn(layout, 'groups', { group })).slice(-legend.length - 1, -1)).toEqual(legend);
  });

  test.each([
    // the GPUs of its node are magnified where it stays in one
    ['tp: 8, cp: 4, pp: 32', 'node 78,643: group 78,643', 8],
    ['tp: 16, cp: 2, pp: 32', 'group 39,321', 0],
  ])('a small group of %s in a large picture has a ring', (degrees, title, magnified) => {
    const svg = drawn(onNodes(131_072, degrees), 'groups', { group: 'tp' });
    expect(svg.match(/<circle /g)).toHaveLength(1);
    expect(texts(svg)).toContain(title);
    expect(texts(svg).filter((text) => /^\d{6}$/.test(text ?? ''))).toHaveLength(magnified);
  });

  test('ranks that are isolated stand out, and those that are not have ink for a pale fill', () => {
    const layout = onNodes(1, 'tp: 4');
    const drawing = drawingOf(layout, 'groups', USUAL_CHOICE);
    const svg = svgOf({ ...drawing, layout, name: '', failed: [], isolated: { ranks: [4, 5, 6, 7], name: 'group 1' } });
    expect(texts(svg)).toContain('group 1: ranks 4 – 7');
    expect(svg).toContain('<g opacity="0.25">');
    const ink = (rank: number) => new RegExp(`fill="(#\\w+)"[^>]*>${rank}<`).exec(svg)?.[1];
    expect([0, 3, 4, 7].map(ink)).toEqual(['#1f1f1f', '#1f1f1f', '#000000', '#000000']);
  });

  test('slots that packed placement does not launch are dashed and counted', () => {
    const svg = drawn(PACKED, 'ntp');
    expect(texts(svg)).toContain('2 slots without a rank');
    expect(/<path d="([^"]*)"[^>]*stroke-dasharray/.exec(svg)?.[1]?.match(/z/g)).toHaveLength(2);
  });

  test('a long title breaks into lines, and the picture is no wider for it', () => {
    const width = (name: string) => Number(/width="([\d.]+)"/.exec(drawn(MOE, 'physical', {}, name))?.[1]);
    expect(width('a long name '.repeat(30))).toBe(width(''));
  });

  test('turn dark on a dark page: every colour of paper has another one, and the ink on fills stays', () => {
    const svg = drawn(MOE, 'physical', {}, 'moe', [3]);
    const dark = new Set([...svg.matchAll(/\[fill="(#\w+)"\]/g)].map(([, colour]) => colour));
    const used = new Set([...svg.matchAll(/<(?:text|rect)[^>]* fill="(#\w+)"/g)].map(([, colour]) => colour));
    expect([...used].filter((colour) => !dark.has(colour)).sort()).toEqual([
      '#000000',
      '#009e73',
      '#56b4e9',
      '#e69f00',
      '#f0e442',
    ]);
  });

  test('say what differs from another layout', () => {
    const modules = (tp: number) => modulesOf(8, `num_ranks: 4, tp: ${tp}`, 'rank_offset: 4, num_ranks: 4');
    const layout = modules(2);
    const difference = differenceOf(modules(1), layout);
    const svg = svgOf({ ...drawingOf(layout, 'physical', USUAL_CHOICE), layout, name: '', failed: [], difference });
    expect(texts(svg).slice(-6)).toEqual([
      'images',
      'language',
      'other coordinates',
      'other peers',
      '4 the same',
      'boxes: node; cells: GPU',
    ]);
    // of the 4 ranks of one module, one fill; those of the other are faded
    expect(svg.match(/fill-opacity="0.22"/g)).toHaveLength(1);
  });

  test('hold every entry of a legend, however many', () => {
    const layout = resolved('world_size: 40\ncluster: {nodes: 40, gpus_per_node: 1}\nparallelism: {tp: 1}\n');
    expect(texts(drawn(layout, 'physical', { colour: 'dp' }))).toContain('dp 39');
  });

  test('a million ranks make a small file that says how many ranks a dot stands for', () => {
    const layout = onNodes(131072, 'tp: 8, cp: 4, pp: 32');
    const svg = drawn(layout, 'physical');
    expect(svg.length).toBeLessThan(100_000);
    expect(texts(svg)).toContain('a dot is 16 ranks: their mean is shown');
  });

  test('text from files stays text', () => {
    const svg = drawn(MOE, 'physical', {}, '<script>alert(1)</script>\u0007\u202e&"');
    expect(svg).not.toContain('<script');
    expect(svg).not.toContain('\u0007');
    expect(svg).not.toContain('\u202e');
    expect(svg).toMatch(/&lt;script&gt;alert\(1\)&lt;\/script&gt;[^<]*&amp;&quot; · 64 ranks/);
  });

  test('every view of a layout is drawn, whatever is chosen', () => {
    for (const id of ['physical', 'logical', 'groups'] as const) {
      for (const choice of [
        {},
        { colour: 'nonsense', group: 'nonsense', across: 'x', down: 'y' },
        { grid: 'expert' },
      ]) {
        expect(drawn(MOE, id, choice)).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
      }
    }
  });
});

describe('the table as comma-separated values', () => {
  test('has a line a rank, with its machine and its coordinates', () => {
    const lines = csvOf(MOE).trimEnd().split('\n');
    expect(lines).toHaveLength(65);
    expect(lines[0]).toBe('rank,node,gpu,module,tp,gtp_remat,cp,dp,pp,expt_tp,ep,expt_gtp_remat,expt_dp');
    expect(lines[38]).toBe('37,4,5,,1,0,0,1,2,1,0,0,1');
  });

  test('a name is never a formula', () => {
    const layout = modulesOf(2, 'num_ranks: 1', 'rank_offset: 1, num_ranks: 1');
    const evil = { ...layout, modules: layout.modules.map((module) => ({ ...module, name: '=1+"1"' })) };
    expect(csvOf(evil).split('\n')[1]).toContain(`"'=1+""1"""`);
  });
});
