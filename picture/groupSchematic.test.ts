import { expect, test } from 'vitest';
import { check, type ResolvedLayout } from '../layout';
import type { Shape } from './diagram';
import { groupSchematic } from './groupSchematic';

function resolved(text: string): ResolvedLayout {
  const layout = check(text).resolved;
  if (!layout) {
    throw new Error('not resolved');
  }
  return layout;
}

const world = (nodes: number, degrees: string) =>
  resolved(
    `layout: 1\nworld_size: ${8 * nodes}\ncluster: {nodes: ${nodes}, gpus_per_node: 8}\nparallelism: {${degrees}}\n`,
  );

const flat = (shapes: readonly Shape[]): Shape[] =>
  shapes.flatMap((shape) => (shape.kind === 'group' ? flat(shape.shapes) : [shape]));

const wordsOf = (shapes: readonly Shape[]) =>
  flat(shapes).flatMap((shape) => (shape.kind === 'text' ? [shape.words] : []));

const filled = (shapes: readonly Shape[]) =>
  flat(shapes).filter((shape) => shape.kind === 'rect' && shape.fill === '#0072b2').length;

test('a group is its nodes with the GPUs that are in it', () => {
  const diagram = groupSchematic(world(128, 'tp: 8, pp: 8'), 'dp', 9, 900);
  expect(wordsOf(diagram?.shapes ?? [])).toEqual(
    expect.arrayContaining([
      'dp group 1',
      '16 ranks on 16 nodes, 1 GPU of each node; 64 groups of this kind',
      'node 1',
      'and 4 nodes more',
    ]),
  );
  expect(filled(diagram?.shapes ?? [])).toBe(12);
});

test('a group inside of a node is one node, whatever the world', () => {
  const diagram = groupSchematic(world(131_072, 'tp: 8, pp: 32, cp: 4'), 'tp', -1, 300);
  expect(
    wordsOf(diagram?.shapes ?? [])
      .slice(0, 3)
      .join(' '),
  ).toBe('tp group 78,643 8 ranks on 1 node, 8 GPUs of one node; 131,072 groups of this kind');
  expect(filled(diagram?.shapes ?? [])).toBe(8);
});

test('nothing leaves the width, and what is not there or is too large is not drawn', () => {
  const layout = world(128, 'tp: 8, pp: 8');
  for (const shape of flat(groupSchematic(layout, 'dp', 0, 316)?.shapes ?? [])) {
    expect(shape.kind !== 'rect' || shape.x + shape.width <= 316).toBe(true);
  }
  expect(groupSchematic(layout, 'cp', 0, 900)).toBeNull();
  expect(groupSchematic(world(8192, 'tp: 1'), 'dp', 0, 900)).toBeNull();
});
