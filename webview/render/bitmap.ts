import { type Colouring, FADE, MAX_STEPS, type Palette, paletteOf, writeValues } from '../../picture/colour';
import type { Placement } from '../../picture/placement';
import { advance } from './slices';
import { themeKind } from './theme';

/** So many cells are painted at a time. */
const CELLS = 65_536;

/** A bitmap in which each pixel stands for a square of `factor` x `factor` cells. */
export interface Level {
  readonly image: HTMLCanvasElement;
  readonly factor: number;
}

/**
 * A picture with one pixel a cell. Where a cell is smaller than a pixel of the screen, cells are joined on purpose: in a
 * square of them the worst condition wins, or else the most frequent value, so that one failed rank in a million is seen.
 */
export class RankBitmap {
  /** The step of every cell in the palette, row by row; a byte a cell. */
  readonly steps: Uint8Array;
  readonly palette: Palette;
  readonly #levels = new Map<number, Level>();

  /** @param stands which ranks stand out (not 0) where the others stand back; null where all are alike */
  constructor(
    readonly placement: Placement,
    readonly colouring: Colouring,
    readonly worldSize: number,
    readonly stands: Uint8Array | null,
  ) {
    this.palette = paletteOf(colouring, themeKind());
    this.steps = new Uint8Array(placement.width * placement.height).fill(MAX_STEPS);
  }

  /** Colours the cells and paints one level. It stops now and then, so that frames and input come between. */
  *colour(factor: number): Generator<void> {
    const { colouring, worldSize, stands, palette, placement } = this;
    const ranks = new Uint8Array(worldSize).fill(MAX_STEPS);
    writeValues(colouring, ranks, (value) => palette.codes[value] ?? MAX_STEPS);
    if (stands) {
      fade(ranks, stands);
    }
    yield* placement.spread(ranks, this.steps, MAX_STEPS);
    yield* this.paint(factor);
  }

  /** Paints a level, and those finer than it: zooming in comes to them. */
  *paintFrom(factor: number): Generator<void> {
    for (let one = factor; one >= 1; one /= 2) {
      yield* this.paint(one);
    }
  }

  /** Whether a level and all finer ones are painted. */
  hasFrom(factor: number): boolean {
    return this.#levels.has(factor) && (factor === 1 || this.hasFrom(factor / 2));
  }

  /** The bitmap of a level; until that is painted the next coarser one, which shows no less, or else it is painted now. */
  at(factor: number): Level {
    const painted = [...this.#levels.values()].filter((level) => level.factor >= factor);
    const [first = this.exactly(factor), ...rest] = painted;
    return rest.reduce((best, level) => (level.factor < best.factor ? level : best), first);
  }

  /** The bitmap of a level, painted now unless it has been. */
  exactly(factor: number): Level {
    advance(this.paint(factor), Number.POSITIVE_INFINITY);
    const level = this.#levels.get(factor);
    if (!level) {
      throw new Error(`level ${factor} was not painted`);
    }
    return level;
  }

  *paint(factor: number): Generator<void> {
    if (this.#levels.has(factor)) {
      return;
    }
    const image = document.createElement('canvas');
    image.width = Math.ceil(this.placement.width / factor);
    image.height = Math.ceil(this.placement.height / factor);
    const context = context2d(image);
    const rows = Math.max(1, Math.floor(CELLS / (image.width * factor ** 2)));
    for (let row = 0; row < image.height; row += rows) {
      const part = context.createImageData(image.width, Math.min(rows, image.height - row));
      this.#paintRows(new Uint32Array(part.data.buffer), row, row + part.height, factor);
      context.putImageData(part, 0, row);
      if (row + rows < image.height) {
        yield;
      }
    }
    this.#levels.set(factor, { image, factor });
  }

  #paintRows(into: Uint32Array, from: number, to: number, factor: number): void {
    const { steps, placement, colouring } = this;
    const { width } = placement;
    const joined =
      factor === 1
        ? steps.subarray(from * width, to * width)
        : joinedSteps(steps, placement, factor, colouring.scale === 'status', from, to);
    writeColours(into, joined, this.palette.words);
  }
}

/** Fades the steps of ranks that stand back. */
function fade(steps: Uint8Array, stands: Uint8Array): void {
  for (let rank = 0; rank < steps.length; rank++) {
    const step = steps[rank] ?? MAX_STEPS;
    if (step !== MAX_STEPS && stands[rank] === 0) {
      steps[rank] = step | FADE;
    }
  }
}

/**
 * Joins squares of cells: the worst of conditions (the highest step), else the most frequent step, of equals the one
 * that is complete first. Gaps count only where there is nothing else.
 * @param from the first row of squares, and `to` the one after the last
 */
export function joinedSteps(
  steps: Uint8Array,
  { width, height }: { readonly width: number; readonly height: number },
  factor: number,
  worst: boolean,
  from = 0,
  to = Math.ceil(height / factor),
): Uint8Array {
  const columns = Math.ceil(width / factor);
  const joined = new Uint8Array(columns * (to - from));
  const counts = new Uint32Array(256);
  for (let row = from; row < to; row++) {
    const squares = joined.subarray((row - from) * columns, (row - from + 1) * columns);
    const top = row * factor;
    const rows = steps.subarray(top * width, Math.min(height, top + factor) * width);
    if (factor === 2) {
      joinPairs(squares, rows, width, worst, counts);
    } else {
      joinRow(squares, rows, width, factor, worst, counts);
    }
  }
  return joined;
}

// A loop in a function of its own is compiled as a whole; inside another loop it would be left and entered again each time.

/** Joins the squares of a row of them. */
function joinRow(
  into: Uint8Array,
  rows: Uint8Array,
  width: number,
  factor: number,
  worst: boolean,
  counts: Uint32Array,
): void {
  for (let column = 0; column < into.length; column++) {
    into[column] = winner(rows, width, column * factor, Math.min(width, (column + 1) * factor), worst, counts);
  }
}

/** As `joinRow` for squares of four cells. Most are of one kind: then there is nothing to count. */
function joinPairs(into: Uint8Array, rows: Uint8Array, width: number, worst: boolean, counts: Uint32Array): void {
  for (let column = 0; column < into.length; column++) {
    const left = 2 * column;
    const step = rows[left] ?? MAX_STEPS;
    const same = rows[left + 1] === step && rows[left + width] === step && rows[left + width + 1] === step;
    into[column] = same ? step : winner(rows, width, left, Math.min(width, left + 2), worst, counts);
  }
}

/**
 * The step of one square.
 * @param rows all rows of the square, of `width` cells each
 * @param counts all zero, before and after
 */
function winner(
  rows: Uint8Array,
  width: number,
  left: number,
  right: number,
  worst: boolean,
  counts: Uint32Array,
): number {
  let best = MAX_STEPS;
  let most = 0;
  for (let start = 0; start < rows.length; start += width) {
    for (let at = start + left; at < start + right; at++) {
      const step = rows[at] ?? MAX_STEPS;
      if (step !== MAX_STEPS) {
        // a rank that stands back yields to one that does not
        const weight = worst ? ((step & FADE) ^ FADE) + (step & ~FADE) + 1 : (counts[step] ?? 0) + 1;
        counts[step] = weight;
        if (weight > most) {
          most = weight;
          best = step;
        }
      }
    }
  }
  for (let start = 0; start < rows.length; start += width) {
    for (let at = start + left; at < start + right; at++) {
      counts[rows[at] ?? 0] = 0;
    }
  }
  return best;
}

/** Writes the colours of steps. */
function writeColours(into: Uint32Array, steps: Uint8Array, words: Uint32Array): void {
  for (let i = 0; i < into.length; i++) {
    into[i] = words[steps[i] ?? MAX_STEPS] ?? 0;
  }
}

export function context2d(
  canvas: HTMLCanvasElement,
  settings?: CanvasRenderingContext2DSettings,
): CanvasRenderingContext2D {
  const context = canvas.getContext('2d', settings);
  if (!context) {
    throw new Error('this browser cannot draw');
  }
  return context;
}
