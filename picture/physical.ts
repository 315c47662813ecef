import { divisors, type ResolvedLayout } from '../layout';
import { type Block, type BoxSet, cellSize, MAX_SPACED, Placement, type Space } from './placement';

/** Something laid out in rows: how many stand side by side, and how much a step takes, in cells. */
interface Tiling {
  readonly columns: number;
  readonly rows: number;
  readonly dx: number;
  readonly dy: number;
}

/**
 * Machines as boxes of GPUs: rank r lies on node floor(r / gpusPerNode). NVLink domains that are larger than a node are
 * boxes of nodes; smaller ones are boxes inside it.
 */
export function physicalPlacement(layout: ResolvedLayout, space: Space): Placement {
  const { worldSize, gpusPerNode, gpusPerNvlinkDomain: perDomain } = layout;
  const nodes = Math.ceil(worldSize / gpusPerNode);
  const spaced = worldSize <= MAX_SPACED;
  const gpus = gpuTiling(gpusPerNode, perDomain);
  const nested = perDomain > gpusPerNode && perDomain % gpusPerNode === 0 && perDomain < worldSize;
  const perGroup = nested ? perDomain / gpusPerNode : nodes;
  const gap = spaced && nodes > 1 ? 1 : 0;
  const nodeStep = { dx: gpus.columns + gap, dy: gpus.rows + gap };
  // a domain is nearly square; what stands outermost fills the space
  const inner = nested
    ? tiling(perGroup, nodeStep, { width: 1, height: 1 }, gap, true)
    : tiling(nodes, nodeStep, space, gap, false);
  const groups = Math.ceil(nodes / perGroup);
  const domainStep = {
    dx: inner.columns * inner.dx + gap,
    dy: inner.rows * inner.dy + 2 * gap,
  };
  const outer = tiling(groups, domainStep, space, gap, false);
  const width = outer.columns * outer.dx - 2 * gap;
  const height = outer.rows * outer.dy - 3 * gap;
  const axes = [
    { stride: 1, size: gpus.columns, dx: 1, dy: 0 },
    { stride: gpus.columns, size: gpus.rows, dx: 0, dy: 1 },
    { stride: gpusPerNode, size: inner.columns, dx: inner.dx, dy: 0 },
    { stride: gpusPerNode * inner.columns, size: inner.rows, dx: 0, dy: inner.dy },
    { stride: gpusPerNode * perGroup, size: outer.columns, dx: outer.dx, dy: 0 },
    { stride: gpusPerNode * perGroup * outer.columns, size: outer.rows, dx: 0, dy: outer.dy },
  ];
  const block: Block = { offset: 0, count: worldSize, x: 0, y: 0, width, height, axes };
  return new Placement(
    width,
    height,
    [block],
    [
      ...(nested ? [domainBoxes(groups, inner, outer, gap)] : []),
      {
        x: 0,
        y: 0,
        width: gpus.columns,
        height: gpus.rows,
        level: 0,
        axes: axes.slice(2),
        count: nodes,
        label: nodeName,
      },
      ...inNode(gpusPerNode, perDomain, gpus, axes, nodes),
    ],
  );
}

const nodeName = (index: number): string => `node ${index}`;

function domainBoxes(groups: number, inner: Tiling, outer: Tiling, gap: number): BoxSet {
  return {
    x: 0,
    y: 0,
    width: inner.columns * inner.dx - gap,
    height: inner.rows * inner.dy - gap,
    level: 1,
    axes: [
      { size: outer.columns, dx: outer.dx, dy: 0 },
      { size: outer.rows, dx: 0, dy: outer.dy },
    ],
    count: groups,
    label: (index) => `NVLink domain ${index}`,
  };
}

/** Boxes of the NVLink domains inside nodes, where a node has several. */
function inNode(
  perNode: number,
  perDomain: number,
  gpus: Pick<Tiling, 'columns' | 'rows'>,
  axes: readonly { size: number; dx: number; dy: number }[],
  nodes: number,
): BoxSet[] {
  if (perDomain >= perNode || perNode % perDomain !== 0) {
    return [];
  }
  const rows = perDomain / gpus.columns;
  const count = gpus.rows / rows;
  const box = { x: 0, y: 0, width: gpus.columns, height: rows, level: -1, label: () => '' };
  return [{ ...box, axes: [{ size: count, dx: 0, dy: rows }, ...axes.slice(2)], count: nodes * count }];
}

/** The widest shape of a node that still makes a box, not a strip, and in which an NVLink domain has whole rows. */
function gpuTiling(gpus: number, perDomain: number): Pick<Tiling, 'columns' | 'rows'> {
  const whole = perDomain < gpus && gpus % perDomain === 0 ? perDomain : gpus;
  const wanted = Math.sqrt(gpus * 2);
  const columns = divisors(whole).find((columns) => columns >= wanted) ?? whole;
  return { columns, rows: Math.ceil(gpus / columns) };
}

/**
 * How many stand side by side so that cells get largest: a divisor of all, so that no row is cut short and patterns line
 * up, unless that would make a strip (a prime number of nodes, say) and rows need not be `whole`.
 */
function tiling(
  count: number,
  { dx, dy }: { dx: number; dy: number },
  space: Space,
  gap: number,
  whole: boolean,
): Tiling {
  const size = (columns: number) => cellSize(space, columns * dx - gap, Math.ceil(count / columns) * dy - gap);
  const best = (candidates: readonly number[]) =>
    candidates.reduce((best, columns) => (size(columns) > size(best) ? columns : best), 1);
  const even = best(divisors(count));
  const around = Math.sqrt((count * dy * space.width) / (dx * space.height));
  const any = best([-2, -1, 0, 1, 2].map((i) => Math.min(count, Math.max(1, Math.round(around) + i))));
  const columns = whole || size(even) >= 0.6 * size(any) ? even : any;
  return { columns, rows: Math.ceil(count / columns), dx, dy };
}
