import { joinedSteps, joiningOf, TILE } from '../../picture/aggregate';
import { type Colouring, MAX_STEPS, type Palette, paletteOf } from '../../picture/colour';
import type { Placement } from '../../picture/placement';
import { hasUnset, stepsSeen, writeSteps } from '../../picture/steps';
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
 * A picture with one pixel a cell. Where a cell is smaller than a pixel of the screen, squares of cells are joined on
 * purpose (`aggregate.ts`), so that one failed rank in a million is seen and no colour claims more ranks than it has.
 */
export class RankBitmap {
  /** The step of every cell in the palette, row by row; a byte a cell. */
  readonly steps: Uint8Array;
  readonly palette: Palette;
  readonly #levels = new Map<number, Level>();
  #seen: ReadonlySet<number> | undefined;
  #unset: boolean | undefined;

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
    const { colouring, worldSize, stands, palette, placement, steps } = this;
    yield* writeSteps(placement, colouring, palette, worldSize, stands, steps);
    yield* this.paint(factor);
  }

  /** The steps that occur. */
  get seen(): ReadonlySet<number> {
    this.#seen ??= stepsSeen(this.steps);
    return this.#seen;
  }

  /** Whether a rank has no value. */
  get unset(): boolean {
    this.#unset ??= hasUnset(this.steps, this.worldSize);
    return this.#unset;
  }

  /** Paints a level and all finer ones, which zooming in needs. */
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
    const rows = TILE * Math.max(1, Math.floor(CELLS / (TILE * image.width * factor ** 2)));
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
        : joinedSteps(steps, placement, factor, joiningOf(colouring), from, to);
    writeColours(into, joined, this.palette.words);
  }
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
