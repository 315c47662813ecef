import type { Numbering } from './numbering';

/** One axis of a picture: steps of `stride` in rank space lead to steps of (`dx`, `dy`) in cells. */
export interface PlacedAxis {
  readonly stride: number;
  readonly size: number;
  readonly dx: number;
  readonly dy: number;
}

/** A rectangle in cells. */
export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A labelled outline around a part of the picture, in cells. */
export interface Box extends Rect {
  readonly label: string;
  /** How far outside its cells the line runs: boxes around boxes run further out. */
  readonly level: number;
}

/** Many boxes of one form, such as all nodes: computed for the part in view, never stored. */
export interface BoxSet extends Rect {
  readonly level: number;
  /** Steps from the first box to the others, the fastest first. */
  readonly axes: readonly { readonly size: number; readonly dx: number; readonly dy: number }[];
  readonly count: number;
  readonly label: (index: number) => string;
}

/** Numbers beside rows or under columns of cells. */
export interface Ruler {
  readonly along: 'x' | 'y';
  /** Where the ruler lies: the row under it, or the column beside it. */
  readonly at: number;
  readonly start: number;
  readonly count: number;
  readonly name: string;
  readonly first: number;
}

/** One block of places in the picture, by arithmetic in both directions. */
export interface Block extends Rect {
  /** The first place. */
  readonly offset: number;
  /** How many places. */
  readonly count: number;
  /** Steps that lead from the first place to all others: contiguous strides, ascending. */
  readonly axes: readonly PlacedAxis[];
}

/** Where every rank is drawn: cells of a picture `width` x `height`, computed, never stored. */
export class Placement {
  /** The axes of every block, the coarsest steps first: so a cell is taken apart. */
  readonly #coarse: readonly (readonly PlacedAxis[])[];

  constructor(
    readonly width: number,
    readonly height: number,
    readonly blocks: readonly Block[],
    readonly boxSets: readonly BoxSet[],
    readonly rulers: readonly Ruler[] = [],
    /** Which rank stands in a place; left out where places are ranks. */
    readonly numbering: Numbering | null = null,
  ) {
    this.#coarse = blocks.map(({ axes }) =>
      axes.filter(({ size }) => size > 1).sort((a, b) => b.dx + b.dy - (a.dx + a.dy)),
    );
  }

  /** The cell of a rank, or null where the picture does not hold it. */
  cellOf(rank: number): { x: number; y: number } | null {
    const place = this.numbering ? this.numbering.placeOf(rank) : rank;
    const block = this.blocks.find(({ offset, count }) => place >= offset && place < offset + count);
    if (!block) {
      return null;
    }
    let { x, y } = block;
    for (const { stride, size, dx, dy } of block.axes) {
      const index = Math.floor((place - block.offset) / stride) % size;
      x += index * dx;
      y += index * dy;
    }
    return { x, y };
  }

  /** The rank in a cell, or -1 for a gap and for a place where no rank is launched. */
  rankAt(column: number, row: number): number {
    const place = this.placeAt(column, row);
    return place >= 0 && this.numbering ? this.numbering.rankAt(place) : place;
  }

  /** The place of the grid in a cell, launched or not; -1 for a gap. */
  placeAt(column: number, row: number): number {
    for (const [i, block] of this.blocks.entries()) {
      const place = placeInBlock(block, this.#coarse[i] ?? [], column - block.x, row - block.y);
      if (place >= 0) {
        return place;
      }
    }
    return -1;
  }

  /** The index (row by row) of the cell of every rank, -1 where the picture does not hold it: one addition a rank. */
  cells(worldSize: number): Int32Array {
    const places = this.numbering?.places ?? worldSize;
    const cells = new Int32Array(places).fill(-1);
    for (const { offset, count, x, y, axes } of this.blocks) {
      const end = Math.min(offset + count, places);
      cells[offset] = y * this.width + x;
      let known = 1;
      for (const { size, dx, dy } of axes) {
        const step = dx + dy * this.width;
        for (let at = offset + known; at < Math.min(offset + known * size, end); at++) {
          cells[at] = (cells[at - known] ?? 0) + step;
        }
        known *= size;
      }
    }
    const { numbering } = this;
    return numbering
      ? Int32Array.from({ length: worldSize }, (_, rank) => cells[numbering.placeOf(rank)] ?? -1)
      : cells;
  }

  /** The boxes that touch a part of the picture, outer ones first, where they are at least `smallest` cells long. */
  boxesIn(view: Rect, smallest: number): Box[] {
    const boxes: Box[] = [];
    for (const set of this.boxSets) {
      if (Math.max(set.width, set.height) >= smallest) {
        addBoxes(boxes, set, view, set.axes.length, set.x, set.y, 0);
      }
    }
    return boxes;
  }
}

/** Walks the axes from the slowest to the fastest, along each only as far as the view reaches. */
function addBoxes(boxes: Box[], set: BoxSet, view: Rect, left: number, x: number, y: number, index: number): void {
  const { axes, width, height, level, label, count } = set;
  const axis = axes[left - 1];
  if (index >= count) {
    return;
  }
  if (!axis) {
    boxes.push({ x, y, width, height, level, label: label(index) });
    return;
  }
  let [reachX, reachY, weight] = [width, height, 1];
  for (let i = 0; i < left - 1; i++) {
    const inner = axes[i];
    reachX += inner ? (inner.size - 1) * inner.dx : 0;
    reachY += inner ? (inner.size - 1) * inner.dy : 0;
    weight *= inner?.size ?? 1;
  }
  const { size, dx, dy } = axis;
  const [step, low, high] =
    dx > 0 ? [dx, view.x - x - reachX, view.x + view.width - x] : [dy, view.y - y - reachY, view.y + view.height - y];
  const first = Math.max(0, Math.ceil(low / step));
  const last = Math.min(size - 1, Math.floor(high / step));
  for (let i = first; i <= last; i++) {
    addBoxes(boxes, set, view, left - 1, x + i * dx, y + i * dy, index + i * weight);
  }
}

function placeInBlock(
  { offset, count, width, height }: Block,
  axes: readonly PlacedAxis[],
  column: number,
  row: number,
): number {
  if (column < 0 || row < 0 || column >= width || row >= height) {
    return -1;
  }
  let place = 0;
  let x = column;
  let y = row;
  for (const { stride, size, dx, dy } of axes) {
    const index = dx > 0 ? Math.floor(x / dx) : Math.floor(y / dy);
    if (index >= size) {
      return -1;
    }
    x -= index * dx;
    y -= index * dy;
    place += index * stride;
  }
  // what is left over lies in a gap
  return x === 0 && y === 0 && place < count ? offset + place : -1;
}

/** The space for a picture, in pixels. */
export interface Space {
  readonly width: number;
  readonly height: number;
}

/** Cells grow no larger than this when the whole picture is shown. */
export const MAX_CELL = 132;

/** How large a cell of a picture of `width` x `height` cells is when the whole picture fills the space. */
export const cellSize = (space: Space, width: number, height: number): number =>
  Math.min(space.width / width, space.height / height, MAX_CELL);

/** Worlds up to this size are drawn with gaps between nodes and slices; beyond, a gap would waste the screen. */
export const MAX_SPACED = 4096;
