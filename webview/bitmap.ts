import { type Colouring, MAX_STEPS, type Palette, paletteOf, valuesOf } from './colour';
import type { Placement } from './placement';
import { advance } from './slices';

/** Marks the step of a rank that is faded. */
const FADE = 128;

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
    this.palette = paletteOf(colouring);
    this.steps = new Uint8Array(placement.width * placement.height).fill(MAX_STEPS);
  }

  /** Colours the cells and paints one level. It stops now and then, so that frames and input come between. */
  *colour(factor: number): Generator<void> {
    const { colouring, worldSize, stands, palette, placement } = this;
    const values = valuesOf(colouring, worldSize);
    if (stands) {
      fade(values, stands, colouring.values);
    }
    yield* placement.spread(values, palette.codes, this.steps);
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
    const { words } = this.palette;
    const { width } = placement;
    const joined =
      factor === 1
        ? steps.subarray(from * width, to * width)
        : joinedSteps(steps, placement, factor, colouring.scale === 'status', from, to);
    for (let i = 0; i < into.length; i++) {
      into[i] = words[joined[i] ?? MAX_STEPS] ?? 0;
    }
  }
}

/** Gives ranks that stand back the code of their value faded. */
function fade(values: Int32Array, stands: Uint8Array, count: number): void {
  for (let rank = 0; rank < values.length; rank++) {
    const value = values[rank] ?? -1;
    if (value >= 0 && stands[rank] === 0) {
      values[rank] = value + count;
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
    const top = row * factor;
    const bottom = Math.min(height, top + factor);
    for (let column = 0; column < columns; column++) {
      const left = column * factor;
      const right = Math.min(width, left + factor);
      const at = top * width + left;
      const step = steps[at] ?? MAX_STEPS;
      // most squares of four are of one kind: then there is nothing to count
      const same =
        factor === 2 && steps[at + 1] === step && steps[at + width] === step && steps[at + width + 1] === step;
      joined[(row - from) * columns + column] = same
        ? step
        : winner(steps, width, left, right, top, bottom, worst, counts);
    }
  }
  return joined;
}

/** @param counts all zero, before and after */
function winner(
  steps: Uint8Array,
  width: number,
  left: number,
  right: number,
  top: number,
  bottom: number,
  worst: boolean,
  counts: Uint32Array,
): number {
  let best = MAX_STEPS;
  let most = 0;
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const step = steps[y * width + x] ?? MAX_STEPS;
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
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      counts[steps[y * width + x] ?? 0] = 0;
    }
  }
  return best;
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
