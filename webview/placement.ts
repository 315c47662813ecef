import { divisors, Grid, type ResolvedLayout, type ResolvedModule } from '../layout';

/** One axis of a picture: steps of `stride` in rank space lead to steps of (`dx`, `dy`) in cells. */
interface PlacedAxis {
  readonly stride: number;
  readonly size: number;
  readonly dx: number;
  readonly dy: number;
}

/** A label for a part of the picture, in cells. */
export interface Box {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** One block of ranks `[offset, offset + count)` in the picture, by arithmetic in both directions. */
interface Block {
  readonly offset: number;
  readonly count: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly axes: readonly PlacedAxis[];
}

/** Where every rank is drawn: cells of a picture `width` x `height`, computed, never stored. */
export class Placement {
  constructor(
    readonly width: number,
    readonly height: number,
    readonly blocks: readonly Block[],
    readonly boxes: readonly Box[],
  ) {}

  /** The cell of a rank, or null where the picture does not hold it. */
  cellOf(rank: number): { x: number; y: number } | null {
    const block = this.blocks.find(({ offset, count }) => rank >= offset && rank < offset + count);
    if (!block) {
      return null;
    }
    let { x, y } = block;
    for (const { stride, size, dx, dy } of block.axes) {
      const index = Math.floor((rank - block.offset) / stride) % size;
      x += index * dx;
      y += index * dy;
    }
    return { x, y };
  }

  /** The rank in a cell, or -1 for a gap. */
  rankAt(column: number, row: number): number {
    for (const block of this.blocks) {
      const rank = rankInBlock(block, column - block.x, row - block.y);
      if (rank >= 0) {
        return rank;
      }
    }
    return -1;
  }

  /** Calls `paint` for every rank with the index of its cell, row by row; for bitmaps. */
  forEach(paint: (rank: number, cell: number) => void): void {
    for (const block of this.blocks) {
      for (let rank = block.offset; rank < block.offset + block.count; rank++) {
        let cell = block.y * this.width + block.x;
        for (const { stride, size, dx, dy } of block.axes) {
          const index = Math.floor((rank - block.offset) / stride) % size;
          cell += index * (dx + dy * this.width);
        }
        paint(rank, cell);
      }
    }
  }
}

function rankInBlock({ offset, count, width, height, axes }: Block, column: number, row: number): number {
  if (column < 0 || row < 0 || column >= width || row >= height) {
    return -1;
  }
  let rank = 0;
  let x = column;
  let y = row;
  // the coarsest steps first; what is left over lies in a gap
  for (const { stride, size, dx, dy } of [...axes].sort((a, b) => b.dx + b.dy - (a.dx + a.dy))) {
    if (size > 1) {
      const index = dx > 0 ? Math.floor(x / dx) : Math.floor(y / dy);
      if (index >= size) {
        return -1;
      }
      x -= index * dx;
      y -= index * dy;
      rank += index * stride;
    }
  }
  return x === 0 && y === 0 && rank < count ? offset + rank : -1;
}

/** Worlds up to this size are drawn with gaps between nodes and slices; beyond, a gap would waste the screen. */
const MAX_SPACED = 4096;

/** Machines as boxes of GPUs: rank r lies on node floor(r / gpusPerNode). */
export function physicalPlacement(layout: ResolvedLayout, aspect: number): Placement {
  const { worldSize, gpusPerNode, nodes } = layout;
  const gap = worldSize <= MAX_SPACED && nodes > 1 ? 1 : 0;
  const columns = nodeColumns(gpusPerNode);
  const rows = Math.ceil(gpusPerNode / columns);
  const pitchX = columns + gap;
  const pitchY = rows + gap;
  const perRow = nodesPerRow(nodes, Math.sqrt((nodes * pitchY * aspect) / pitchX));
  const nodeRows = Math.ceil(nodes / perRow);
  const width = perRow * pitchX - gap;
  const height = nodeRows * pitchY - gap;
  const block: Block = {
    offset: 0,
    count: worldSize,
    x: 0,
    y: 0,
    width,
    height,
    axes: [
      { stride: 1, size: Math.min(columns, gpusPerNode), dx: 1, dy: 0 },
      { stride: columns, size: rows, dx: 0, dy: 1 },
      { stride: gpusPerNode, size: perRow, dx: pitchX, dy: 0 },
      { stride: gpusPerNode * perRow, size: nodeRows, dx: 0, dy: pitchY },
    ],
  };
  const boxes =
    nodes <= 1024
      ? Array.from({ length: nodes }, (_, node) => ({
          label: `node ${node}`,
          x: (node % perRow) * pitchX,
          y: Math.floor(node / perRow) * pitchY,
          width: columns,
          height: rows,
        }))
      : [];
  return new Placement(width, height, [block], boxes);
}

/**
 * How many nodes stand side by side: a divisor near to `wanted`, so that no row is cut short and patterns line up; where
 * there is none (a prime number of nodes, say) the last row is cut short.
 */
function nodesPerRow(nodes: number, wanted: number): number {
  const even = nearestDivisor(nodes, wanted);
  return even >= wanted / 2 && even <= wanted * 2 ? even : Math.max(1, Math.min(nodes, Math.round(wanted)));
}

/** The widest divisor of a node's GPUs that still makes a box, not a strip. */
function nodeColumns(gpus: number): number {
  const wanted = Math.sqrt(gpus * 2);
  for (let columns = Math.ceil(wanted); columns < gpus; columns++) {
    if (gpus % columns === 0) {
      return columns;
    }
  }
  return gpus;
}

/** Which grid of a module is drawn. */
export type GridKind = 'dense' | 'expert';

/** Dimensions as axes: pipeline stages side by side, the model's other cuts across, replicas downwards; a block a module. */
export function logicalPlacement(layout: ResolvedLayout, kind: GridKind, aspect: number): Placement {
  const spaced = layout.worldSize <= MAX_SPACED;
  const blocks: Block[] = [];
  const boxes: Box[] = [];
  let y = 0;
  let width = 1;
  // colocated modules cover the same ranks: one picture holds each rank once
  const shown = layout.mode === 'colocated' ? layout.modules.slice(0, 1) : layout.modules;
  for (const module of shown) {
    const { block, slices } = moduleBlock(module, kind, y, spaced ? 1 : 0, aspect);
    blocks.push(block);
    boxes.push(...slices);
    width = Math.max(width, block.width);
    y += block.height + (spaced ? 1 : 0);
  }
  return new Placement(width, Math.max(1, y - (spaced ? 1 : 0)), blocks, boxes);
}

function moduleBlock(module: ResolvedModule, kind: GridKind, y: number, gap: number, aspect: number) {
  const grid = new Grid(kind === 'dense' ? module.dense : module.expert, module.rankOffset);
  const across = grid.axes.filter(({ name }) => name !== 'pp' && !name.endsWith('dp'));
  const down = grid.axes.find(({ name }) => name.endsWith('dp'));
  const stages = grid.axes.find(({ name }) => name === 'pp');
  const axes: PlacedAxis[] = [];
  let sliceWidth = 1;
  for (const { stride, size } of across) {
    axes.push({ stride, size, dx: sliceWidth, dy: 0 });
    sliceWidth *= size;
  }
  const pitch = sliceWidth + gap;
  const stageCount = stages?.size ?? 1;
  const replicas = down?.size ?? 1;
  // many replicas are folded into bands, so that the picture has the shape of the window
  const band = nearestDivisor(replicas, Math.sqrt((replicas * pitch * stageCount) / aspect));
  const bands = replicas / band;
  const stride = down?.stride ?? 1;
  axes.push({ stride, size: band, dx: 0, dy: 1 });
  axes.push({ stride: stride * band, size: bands, dx: stageCount * pitch, dy: 0 });
  if (stages) {
    axes.push({ stride: stages.stride, size: stages.size, dx: pitch, dy: 0 });
  }
  const block: Block = {
    offset: module.rankOffset,
    count: module.numRanks,
    x: 0,
    y,
    width: bands * stageCount * pitch - gap,
    height: band,
    axes,
  };
  const name = module.name ?? '';
  const labelled = gap > 0 && stageCount * bands <= 64;
  const slices: Box[] = labelled
    ? Array.from({ length: stageCount * bands }, (_, i) => ({
        label: [name, stageCount > 1 ? `stage ${i % stageCount}` : ''].filter(Boolean).join(', '),
        x: i * pitch,
        y,
        width: sliceWidth,
        height: band,
      }))
    : [{ label: name, x: 0, y, width: block.width, height: block.height }];
  return { block, slices };
}

/** The divisor of `n` nearest to `wanted`, as a ratio. */
function nearestDivisor(n: number, wanted: number): number {
  const ratio = (divisor: number) => Math.max(divisor / wanted, wanted / divisor);
  return divisors(n).reduce((best, divisor) => (ratio(divisor) < ratio(best) ? divisor : best), n);
}
