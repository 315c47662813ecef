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

  /**
   * Writes the bytes of ranks into their cells, row by row. It stops between steps of up to `STEP` ranks, so that something
   * else can be done.
   * @param none the byte of places where no rank is launched
   */
  *spread(ranks: Uint8Array, into: Uint8Array, none: number): Generator<void> {
    const placed = this.#byPlace(ranks, none);
    for (const block of this.blocks) {
      const { inner, outer, first } = this.#steps(block);
      for (const [i, start] of outer.entries()) {
        const from = block.offset + i * inner.length;
        const end = Math.min(inner.length, block.count - i * inner.length, placed.length - from);
        writeCells(placed.subarray(from, from + Math.max(0, end)), inner, first + start, into);
        if ((i + 1) % Math.ceil(STEP / inner.length) === 0) {
          yield;
        }
      }
    }
  }

  /** The bytes of ranks in the order of their places. */
  #byPlace(ranks: Uint8Array, none: number): Uint8Array {
    const { numbering } = this;
    if (!numbering) {
      return ranks;
    }
    const placed = new Uint8Array(numbering.places).fill(none);
    for (const [rank, byte] of ranks.entries()) {
      placed[numbering.placeOf(rank)] = byte;
    }
    return placed;
  }

  /** How far the cells of a block lie from its first one: of the ranks that follow each other, and of each run of them. */
  #steps({ x, y, axes }: Block): { inner: Int32Array; outer: Int32Array; first: number } {
    let known = 1;
    const slow = axes.findIndex(({ size }) => {
      const whole = known >= FEW && known * size > STEP;
      known *= size;
      return whole;
    });
    const [fast, rest] = slow < 0 ? [axes, []] : [axes.slice(0, slow), axes.slice(slow)];
    return { inner: offsets(fast, this.width), outer: offsets(rest, this.width), first: y * this.width + x };
  }

  /** The boxes that touch a part of the picture, outer ones first, where they are at least `smallest` cells long. */
  *boxesIn(view: Rect, smallest: number): Generator<Box> {
    for (const set of this.boxSets) {
      if (Math.max(set.width, set.height) >= smallest) {
        yield* boxesOf(set, view, set.axes.length, set.x, set.y, 0);
      }
    }
  }
}

/** So many ranks are written at a time, at the most and, where a single axis is not longer, at the least. */
const STEP = 65_536;
const FEW = 64;

/** The distances in cells to which steps along axes lead, the fastest axis first: one addition each. */
function offsets(axes: readonly PlacedAxis[], width: number): Int32Array {
  const all = new Int32Array(axes.reduce((product, { size }) => product * size, 1));
  let known = 1;
  for (const { size, dx, dy } of axes) {
    repeatShifted(all.subarray(0, known * size), known, dx + dy * width);
    known *= size;
  }
  return all;
}

/** Fills what comes after the first `known` numbers with these, shifted once more each time. */
function repeatShifted(all: Int32Array, known: number, shift: number): void {
  for (let at = known; at < all.length; at++) {
    all[at] = (all[at - known] ?? 0) + shift;
  }
}

function writeCells(bytes: Uint8Array, cells: Int32Array, first: number, into: Uint8Array): void {
  for (let i = 0; i < bytes.length; i++) {
    into[first + (cells[i] ?? 0)] = bytes[i] ?? 0;
  }
}

/** Walks the axes from the slowest to the fastest, along each only as far as the view reaches. */
function* boxesOf(set: BoxSet, view: Rect, left: number, x: number, y: number, index: number): Generator<Box> {
  const { axes, width, height, level, label, count } = set;
  const axis = axes[left - 1];
  if (index >= count) {
    return;
  }
  if (!axis) {
    yield { x, y, width, height, level, label: label(index) };
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
    yield* boxesOf(set, view, left - 1, x + i * dx, y + i * dy, index + i * weight);
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
