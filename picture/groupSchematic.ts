import { countOf, grouped, type ResolvedLayout } from '../layout';
import { type Diagram, type Shape, stacked, textAt, titleAt, wrapped } from './diagram';
import { exampleIndex } from './example';
import { familiesOf } from './rankDetails';

/** From so many ranks on cells of a picture say little about one group. */
export const MANY_RANKS = 1000;

/** Members of larger groups are not listed for a picture. */
const MAX_MEMBERS = 4096;

/** So many nodes of a group are drawn; the rest is counted. */
const MAX_NODES = 12;

/** A GPU, the space between two, and around those of a node, in pixels. */
const GPU = 12;
const BETWEEN = 3;
const PADDING = 8;
const LABEL = 18;

const MEMBER = '#0072b2';

/** So many GPUs of a node stand side by side. */
const MAX_COLUMNS = 8;

/**
 * One process group of a kind as its nodes, with the GPUs of each that are in the group: the others are alike. Null where the kind
 * has no group of several ranks, or one too large to be listed.
 * @param rank a rank of the group that is drawn; -1: one inside of the world
 */
export function groupSchematic(layout: ResolvedLayout, kind: string, rank: number, width: number): Diagram | null {
  const family = familiesOf(layout).find(({ name, size }) => name === kind && size > 1);
  if (!family || family.size > MAX_MEMBERS) {
    return null;
  }
  const index = (rank < 0 ? undefined : family.indicesOf(rank)[0]) ?? exampleIndex(family.count);
  const { gpusPerNode } = layout;
  const members = new Map<number, Set<number>>();
  for (const one of family.ranks(index)) {
    const node = Math.floor(one / gpusPerNode);
    members.set(node, (members.get(node) ?? new Set()).add(one % gpusPerNode));
  }
  const nodes = [...members];
  const each = [...new Set(nodes.map(([, gpus]) => gpus.size))];
  const of =
    each.length === 1
      ? `${countOf(each[0] ?? 0, 'GPU')} of ${nodes.length === 1 ? 'one node' : 'each node'}`
      : 'unlike numbers of GPUs of each';
  const says = `${countOf(family.size, 'rank')} on ${countOf(nodes.length, 'node')}, ${of}; ${countOf(family.count, 'group')} of this kind`;
  const title = { shapes: [titleAt(0, `${kind} group ${grouped(index)}`)], height: 20 };
  const { shapes, height } = stacked([title, wrapped(says, width, 'text'), nodesPart(nodes, gpusPerNode, width)], 6);
  return { width, height, shapes };
}

function nodesPart(nodes: readonly (readonly [number, ReadonlySet<number>])[], gpus: number, width: number) {
  const columns = Math.min(gpus, MAX_COLUMNS);
  const rows = Math.ceil(gpus / columns);
  const wide = 2 * PADDING + columns * GPU + (columns - 1) * BETWEEN;
  const high = LABEL + PADDING + rows * GPU + (rows - 1) * BETWEEN;
  const perLine = Math.max(1, Math.floor((width + BETWEEN) / (wide + PADDING)));
  const shown = nodes.slice(0, MAX_NODES);
  const shapes = shown.flatMap(([node, members], i): Shape[] => {
    const x = (i % perLine) * (wide + PADDING);
    const y = Math.floor(i / perLine) * (high + PADDING);
    return [
      { kind: 'rect', x, y, width: wide, height: high, fill: 'boxFill', stroke: 'box' },
      textAt(x + PADDING, y + 13, `node ${grouped(node)}`, { weight: 600 }),
      ...Array.from({ length: gpus }, (_, gpu): Shape => {
        const place = {
          x: x + PADDING + (gpu % columns) * (GPU + BETWEEN),
          y: y + LABEL + Math.floor(gpu / columns) * (GPU + BETWEEN),
        };
        const look = members.has(gpu) ? ({ fill: MEMBER, stroke: 'text' } as const) : ({ stroke: 'box' } as const);
        return { kind: 'rect', ...place, width: GPU, height: GPU, ...look };
      }),
    ];
  });
  const height = Math.ceil(shown.length / perLine) * (high + PADDING);
  const more = nodes.length - shown.length;
  return more > 0
    ? stacked([{ shapes, height }, wrapped(`and ${countOf(more, 'node')} more`, width, 'muted')])
    : { shapes, height };
}
