import { TILE } from '../../picture/aggregate';
import { Cells, type Picture } from '../../picture/cells';
import { MAX_STEPS } from '../../picture/colour';
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
export class RankBitmap extends Cells {
  readonly #levels = new Map<number, Level>();

  constructor(picture: Picture) {
    super(picture, themeKind());
  }

  /** Colours the cells and paints one level, a slice at a time, so that frames and input come between. */
  *prepare(factor: number): Generator<void> {
    yield* this.colour();
    yield* this.paint(factor);
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
    const { placement } = this.picture;
    const image = document.createElement('canvas');
    image.width = Math.ceil(placement.width / factor);
    image.height = Math.ceil(placement.height / factor);
    const context = context2d(image);
    const rows = TILE * Math.max(1, Math.floor(CELLS / (TILE * image.width * factor ** 2)));
    for (let row = 0; row < image.height; row += rows) {
      const part = context.createImageData(image.width, Math.min(rows, image.height - row));
      const steps = this.joined(factor, row, row + part.height);
      writeColours(new Uint32Array(part.data.buffer), steps, this.palette.words);
      context.putImageData(part, 0, row);
      if (row + rows < image.height) {
        yield;
      }
    }
    this.#levels.set(factor, { image, factor });
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
