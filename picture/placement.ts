import type { Numbering } from './numbering';

/** A rectangle: in cells of a picture, or in pixels where that is said. */
export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The space for a picture, in pixels. */
export interface Space {
  readonly width: number;
  readonly height: number;
}

/** The label of a block: its name, and what its ranks have in common. */
export interface BlockLabel {
  readonly title: string;
  readonly detail: string;
}

/** One level of nesting, such as all nodes of a rack: blocks of one form in rows. */
export interface Level {
  /** What a block is called: `stage`, `node`, ... */
  readonly kind: string;
  /** From a place to the same one in the next block, in places. */
  readonly stride: number;
  /** How many blocks lie in the block around them. */
  readonly size: number;
  /** How many of them lie side by side. */
  readonly columns: number;
  /** The label of the block that begins at a place; null for bare rows and columns of cells, which have no box. */
  readonly label: ((place: number) => BlockLabel) | null;
  /** The label of its last block, whose numbers are the longest; left out where there is none, or where it does not matter. */
  readonly last?: BlockLabel;
}

/** A level with its place in the picture. */
export interface PlacedLevel extends Level {
  /** How many rows of blocks there are. */
  readonly rows: number;
  /** The size of one block, in cells. */
  readonly unitWidth: number;
  readonly unitHeight: number;
}

/** One part of a picture: places laid out by nested levels, the outermost first. */
export interface Panel extends Rect {
  /** The first place. */
  readonly offset: number;
  /** How many places. */
  readonly count: number;
  readonly levels: readonly PlacedLevel[];
}

/** Lays out places `[offset, offset + count)` by levels, the outermost first, with the upper left cell at (`x`, `y`). */
export function panelOf(levels: readonly Level[], offset: number, count: number, x = 0, y = 0): Panel {
  const placed: PlacedLevel[] = [];
  let [width, height] = [1, 1];
  for (const level of levels.toReversed()) {
    const rows = Math.ceil(level.size / level.columns);
    placed.unshift({ ...level, rows, unitWidth: width, unitHeight: height });
    width *= level.columns;
    height *= rows;
  }
  return { offset, count, x, y, width, height, levels: placed };
}

/** Where every rank is drawn: cells of a picture `width` x `height`, computed, never stored. */
export class Placement {
  readonly width: number;
  readonly height: number;

  constructor(
    readonly panels: readonly Panel[],
    /** Which rank is in a place; left out where places are ranks. */
    readonly numbering: Numbering | null = null,
  ) {
    this.width = Math.max(1, ...panels.map(({ x, width }) => x + width));
    this.height = Math.max(1, ...panels.map(({ y, height }) => y + height));
  }

  /** The cell of a rank, or null where the picture does not hold it. */
  cellOf(rank: number): { readonly x: number; readonly y: number } | null {
    return this.cellOfPlace(this.numbering ? this.numbering.placeOf(rank) : rank);
  }

  /** The cell of a place, launched or not; null for none of the picture. */
  cellOfPlace(place: number): { readonly x: number; readonly y: number } | null {
    const panel = this.panels.find(({ offset, count }) => place >= offset && place < offset + count);
    if (!panel) {
      return null;
    }
    let { x, y } = panel;
    for (const { stride, size, columns, unitWidth, unitHeight } of panel.levels) {
      const index = Math.floor((place - panel.offset) / stride) % size;
      x += (index % columns) * unitWidth;
      y += Math.floor(index / columns) * unitHeight;
    }
    return { x, y };
  }

  /** The rank in a cell, or -1 for an empty cell and for a place where no rank is launched. */
  rankAt(column: number, row: number): number {
    const place = this.placeAt(column, row);
    return place >= 0 && this.numbering ? this.numbering.rankAt(place) : place;
  }

  /** The place in a cell, launched or not; -1 for an empty cell. */
  placeAt(column: number, row: number): number {
    for (const panel of this.panels) {
      const place = placeInPanel(panel, column - panel.x, row - panel.y);
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
    for (const panel of this.panels) {
      const { inner, outer, first } = this.#steps(panel);
      for (const [i, start] of outer.entries()) {
        const from = panel.offset + i * inner.length;
        const end = Math.min(inner.length, panel.count - i * inner.length, placed.length - from);
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

  /** How far the cells of a panel lie from its first one: of the places that follow each other, and of each run of them. */
  #steps({ x, y, levels }: Panel): { inner: Int32Array; outer: Int32Array; first: number } {
    const ascending = levels.filter(({ size }) => size > 1).sort((a, b) => a.stride - b.stride);
    let known = 1;
    const slow = ascending.findIndex(({ size }) => {
      const whole = known >= FEW && known * size > STEP;
      known *= size;
      return whole;
    });
    const [fast, rest] = slow < 0 ? [ascending, []] : [ascending.slice(0, slow), ascending.slice(slow)];
    return { inner: offsets(fast, this.width), outer: offsets(rest, this.width), first: y * this.width + x };
  }
}

/** So many ranks are written at a time, at the most and, where a single level is not longer, at the least. */
const STEP = 65_536;
const FEW = 64;

/** The distances in cells to which steps along levels lead, the fastest level first: one addition each. */
function offsets(levels: readonly PlacedLevel[], width: number): Int32Array {
  const all = new Int32Array(levels.reduce((product, { size }) => product * size, 1));
  let known = 1;
  for (const { size, columns, unitWidth, unitHeight } of levels) {
    for (let i = 1; i < size; i++) {
      const shift = (i % columns) * unitWidth + Math.floor(i / columns) * unitHeight * width;
      copyShifted(all, known, i * known, shift);
    }
    known *= size;
  }
  return all;
}

// A loop in a function of its own is compiled as a whole; inside another loop it would be left and entered again each time.

/** Copies the first `count` numbers to `at`, each with `shift` added. */
function copyShifted(all: Int32Array, count: number, at: number, shift: number): void {
  for (let i = 0; i < count; i++) {
    all[at + i] = (all[i] ?? 0) + shift;
  }
}

function writeCells(bytes: Uint8Array, cells: Int32Array, first: number, into: Uint8Array): void {
  for (let i = 0; i < bytes.length; i++) {
    into[first + (cells[i] ?? 0)] = bytes[i] ?? 0;
  }
}

/** The place whose cell, or the first place of the block whose upper left cell, is at (`column`, `row`) of a panel; -1 where there is none. */
export function placeInPanel({ offset, count, width, height, levels }: Panel, column: number, row: number): number {
  if (column < 0 || row < 0 || column >= width || row >= height) {
    return -1;
  }
  let place = 0;
  let [x, y] = [column, row];
  for (const { stride, size, columns, unitWidth, unitHeight } of levels) {
    const [across, down] = [Math.floor(x / unitWidth), Math.floor(y / unitHeight)];
    const index = down * columns + across;
    if (index >= size) {
      return -1;
    }
    x -= across * unitWidth;
    y -= down * unitHeight;
    place += index * stride;
  }
  return place < count ? offset + place : -1;
}
