import { describe, expect, test } from 'vitest';
import type { ResolvedLayout } from '../layout';
import { nestingText } from './blocks';
import { fittingSize, Geometry } from './geometry';
import { blockText } from './labels';
import { logicalPlacement } from './logical';
import { physicalPlacement } from './physical';
import { gridOf, modulesOf, onNodes, resolved } from './testing';

const SPACE = { width: 900, height: 600 };
const CHOICE = { grid: 'dense', across: '', down: '', module: '' } as const;

const MOE = onNodes(8, 'tp: 4, pp: 4');
const MILLION = onNodes(131072, 'tp: 8, cp: 4, pp: 32');
const NVL72 = resolved(
  'world_size: 288\ncluster: {nodes: 72, gpus_per_node: 4, gpus_per_nvlink_domain: 72}\nparallelism: {tp: 4, pp: 6}\n',
);

/** The picture of the machines, as large as it fits, magnified. */
function machines(layout: ResolvedLayout, zoom = 1): Geometry {
  const placement = physicalPlacement(layout, SPACE);
  const { width, height } = fittingSize(placement, SPACE);
  return new Geometry(placement, width * zoom, height * zoom);
}

/** The labels of all blocks that have room for one, by kind. */
function labels(geometry: Geometry, view = { x: 0, y: 0, width: geometry.width, height: geometry.height }) {
  return geometry.panels.flatMap((panel) =>
    panel.levels
      .filter(({ insets }) => insets.header > 13)
      .flatMap((level) => [...panel.blocks(level, view)].map(({ level: { label }, place }) => label?.(place).title)),
  );
}

describe('where cells lie', () => {
  test('a point in a cell leads back to the cell, and cells do not overlap', () => {
    for (const zoom of [1, 3.7]) {
      const geometry = machines(MOE, zoom);
      for (let rank = 0; rank < 64; rank++) {
        const rect = geometry.rectOfRank(rank);
        const at = geometry.placement.cellOf(rank);
        expect(rect && geometry.cellAt(rect.x + 0.01, rect.y + 0.01)).toEqual(at);
        expect(rect && geometry.cellAt(rect.x + rect.width - 0.01, rect.y + rect.height - 0.01)).toEqual(at);
      }
    }
  });

  test('labels lie beside cells, never over them', () => {
    const geometry = machines(MOE);
    const all = { x: 0, y: 0, width: geometry.width, height: geometry.height };
    for (const panel of geometry.panels) {
      for (const level of panel.levels.filter(({ insets }) => insets.header > 0)) {
        for (const { x, y, width, header } of panel.blocks(level, all)) {
          for (let share = 0.05; share < 1; share += 0.1) {
            expect(geometry.cellAt(x + width * share, y + header / 2)).toBeNull();
          }
        }
      }
    }
  });

  test('the whole picture fits its space, with cells neither too long nor too high', () => {
    for (const layout of [MOE, NVL72, MILLION]) {
      const { width, height, cellWidth, cellHeight } = machines(layout);
      expect(width).toBeLessThanOrEqual(SPACE.width);
      expect(height).toBeLessThanOrEqual(SPACE.height);
      expect(cellWidth / cellHeight).toBeGreaterThan(0.4);
      expect(cellWidth / cellHeight).toBeLessThan(2.5);
    }
  });
});

describe('level of detail', () => {
  test('a small world names its stages and nodes', () => {
    expect(labels(machines(MOE)).sort()).toEqual([
      ...Array.from({ length: 8 }, (_, i) => `node ${i}`),
      ...Array.from({ length: 4 }, (_, i) => `stage ${i}`),
    ]);
  });

  test('a million ranks are 32 named stages; zooming in names the nodes in view', () => {
    expect(labels(machines(MILLION))).toEqual(Array.from({ length: 32 }, (_, i) => `stage ${i}`));
    const near = machines(MILLION, 60);
    const rect = near.rectOfRank(500_000);
    const seen = labels(near, { x: rect?.x ?? 0, y: rect?.y ?? 0, width: 400, height: 300 });
    expect(seen).toContain(`node ${(62_500).toLocaleString('en')}`);
    expect(seen.length).toBeLessThan(60);
  });

  test.each([
    ['a million ranks', MILLION],
    ['stages of many nodes', onNodes(2048, 'tp: 8, pp: 16')],
  ])('%s: a block has a header only where its label fits, and neighbours are labelled alike', (_, layout) => {
    for (const zoom of [0.5, 0.6, 0.7, 0.8, 1, 1.5, 2, 3, 5, 8, 12, 20, 40]) {
      const geometry = machines(layout, zoom);
      const view = zoom < 3 ? geometry.all : { ...geometry.all, width: 400, height: 300 };
      for (const panel of geometry.panels) {
        for (const level of panel.levels.filter(({ insets }) => insets.header >= 13)) {
          const texts = [...panel.blocks(level, view)].map((block) => blockText(block, block.width - 14));
          const titles = texts.map(({ title }) => title);
          expect(new Set(texts.map(({ detail }) => detail === '')).size).toBe(1);
          expect(titles).not.toContain('');
          expect(new Set(titles.map((title) => /^\D*/.exec(title)?.[0])).size).toBe(1);
        }
      }
    }
  });

  test('NVLink domains that are larger than a node are boxes around nodes', () => {
    expect(labels(machines(NVL72)).filter((title) => title?.startsWith('NVLink'))).toEqual(
      Array.from({ length: 4 }, (_, i) => `NVLink domain ${i}`),
    );
  });

  test('every replica has a label of its own, however many there are', () => {
    const layout = gridOf(131_072, 'tp: 8, cp: 4, pp: 16');
    const placement = logicalPlacement(layout, CHOICE, SPACE);
    const { width, height } = fittingSize(placement, SPACE);
    const near = new Geometry(placement, width * 12, height * 12);
    const stage = near.panels.flatMap((panel) =>
      panel.levels.slice(0, 1).flatMap((level) => [...panel.blocks(level, { x: 0, y: 0, width: 1, height: 1 })]),
    );
    const seen = labels(near, stage[0] ?? { x: 0, y: 0, width: 1, height: 1 }).filter((title) =>
      title?.startsWith('replica'),
    );
    expect(new Set(seen)).toEqual(new Set(Array.from({ length: 256 }, (_, i) => `replica ${i}`)));
  });

  test('what lies in what is said as it is drawn', () => {
    expect(nestingText(machines(MOE))).toBe('boxes: stage › node; cells: GPU');
    expect(nestingText(machines(MILLION))).toBe('boxes: stage; cells: GPU');
    const modules = machines(
      resolved(
        'cluster: {nodes: 5, gpus_per_node: 8}\nmodules:\n  images: {num_ranks: 8}\n  language: {rank_offset: 8, num_ranks: 32, tp: 8, pp: 2}\n',
      ),
    );
    expect(nestingText(modules)).toBe('boxes: module › stage › node; cells: GPU');
    const sideBySide = modulesOf(8, 'num_ranks: 4, tp: 2', 'rank_offset: 4, num_ranks: 4, tp: 2, pp: 2');
    const placement = logicalPlacement(sideBySide, CHOICE, SPACE);
    expect(nestingText(new Geometry(placement, SPACE.width, SPACE.height))).toBe(
      'boxes: module › replica or module › stage; cells: tp across',
    );
    // the box around says the module
    const { level } = modules.panels[0]?.levels.find((one) => one.level.kind === 'node') ?? {};
    expect(level?.label?.(0)).toEqual({ title: 'node 0', detail: '' });
  });
});
