import { describe, expect, test } from 'vitest';
import type { ResolvedLayout } from '../layout';
import { groupColouring } from './colourings';
import { physicalPlacement } from './physical';
import { onNodes } from './testing';

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
    [8, 'tp: 4, pp: 4'],
    [11, 'tp: 4'],
    [2048, 'tp: 8, cp: 2, pp: 16'],
    [4096, 'tp: 8, pp: 16'],
  ])('%i nodes: neighbours always differ', (nodes, degrees) => {
    const layout = onNodes(nodes, degrees);
    for (const name of ['tp', 'dp', 'pp']) {
      expect(alike(layout, name), name).toBe(0);
    }
  });
});
