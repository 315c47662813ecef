import { describe, expect, test } from 'vitest';
import { check, type ResolvedLayout } from '../layout';
import { groupColouring } from './colourings';
import { physicalPlacement } from './physical';

const resolved = (text: string): ResolvedLayout => {
  const { resolved } = check(`layout: 1\n${text}`);
  if (!resolved) {
    throw new Error('the layout does not resolve');
  }
  return resolved;
};

/** How many ranks lie beside a rank of another group with the same colour. */
function alike(layout: ResolvedLayout, name: string): number {
  const placement = physicalPlacement(layout, { width: 1200, height: 800 });
  const plain = groupColouring(layout, name);
  const { hues, valueOf: groupOf } = plain.arranged?.(placement) ?? plain;
  let count = 0;
  for (let rank = 0; rank < layout.worldSize; rank++) {
    const at = placement.cellOf(rank) ?? { x: -1, y: -1 };
    for (const other of [placement.rankAt(at.x + 1, at.y), placement.rankAt(at.x, at.y + 1)]) {
      const [a, b] = [groupOf(rank), other < 0 ? -1 : groupOf(other)];
      count += b >= 0 && a !== b && hues?.[a] === hues?.[b] ? 1 : 0;
    }
  }
  return count;
}

describe('colours of groups side by side', () => {
  test.each([
    ['64 ranks', 'world_size: 64\ncluster: {nodes: 8, gpus_per_node: 8}\nparallelism: {tp: 4, pp: 4}\n'],
    ['an odd number of nodes', 'world_size: 88\ncluster: {nodes: 11, gpus_per_node: 8}\nparallelism: {tp: 4}\n'],
    [
      '16,384 ranks',
      'world_size: 16384\ncluster: {nodes: 2048, gpus_per_node: 8}\nparallelism: {tp: 8, cp: 2, pp: 16}\n',
    ],
    ['32,768 ranks', 'world_size: 32768\ncluster: {nodes: 4096, gpus_per_node: 8}\nparallelism: {tp: 8, pp: 16}\n'],
  ])('%s: neighbours always differ', (_, text) => {
    const layout = resolved(text);
    for (const name of ['tp', 'dp', 'pp']) {
      expect(alike(layout, name), name).toBe(0);
    }
  });
});
