import { type Colouring, MAX_STEPS, type Palette, paletteOf, valuesOf } from './colour';
import type { Placement } from './placement';

/** Marks the step of a rank that is faded. */
const FADE = 128;

/**
 * A picture with one pixel a cell. Where a cell is smaller than a pixel of the screen, cells are joined on purpose: in a
 * square of them the worst condition wins, or else the most frequent value, so that one failed rank in a million is seen.
 */
export class RankBitmap {
  /** The step of every cell in the palette, row by row; a byte a cell. */
  readonly steps: Uint8Array;
  readonly palette: Palette;
  readonly #status: boolean;
  readonly #levels = new Map<number, HTMLCanvasElement>();

  /** @param faded which ranks stand back, if any do */
  constructor(
    readonly placement: Placement,
    colouring: Colouring,
    worldSize: number,
    faded: ((rank: number) => boolean) | null,
  ) {
    this.palette = paletteOf(colouring);
    this.#status = colouring.scale === 'status';
    const steps = new Uint8Array(placement.width * placement.height).fill(MAX_STEPS);
    const cells = placement.cells(worldSize);
    const values = valuesOf(colouring, worldSize);
    for (let rank = 0; rank < worldSize; rank++) {
      const cell = cells[rank] ?? -1;
      const value = values[rank] ?? -1;
      if (cell >= 0 && value >= 0) {
        steps[cell] = (this.palette.steps[value] ?? 0) | (faded?.(rank) ? FADE : 0);
      }
    }
    this.steps = steps;
  }

  /** The picture with squares of `factor` x `factor` cells joined into one pixel. */
  at(factor: number): HTMLCanvasElement {
    let canvas = this.#levels.get(factor);
    if (!canvas) {
      canvas = this.#painted(factor);
      this.#levels.set(factor, canvas);
    }
    return canvas;
  }

  #painted(factor: number): HTMLCanvasElement {
    const canvas = document.createElement('canvas');
    canvas.width = Math.ceil(this.placement.width / factor);
    canvas.height = Math.ceil(this.placement.height / factor);
    const context = context2d(canvas);
    const image = context.createImageData(canvas.width, canvas.height);
    const words = new Uint32Array(image.data.buffer);
    const steps = factor === 1 ? this.steps : joinedSteps(this.steps, this.placement, factor, this.#status);
    for (let i = 0; i < words.length; i++) {
      words[i] = this.palette.words[steps[i] ?? MAX_STEPS] ?? 0;
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }
}

/**
 * Joins squares of cells: the worst of conditions (the highest step), else the most frequent step, of equals the one
 * that is complete first. Gaps count only where there is nothing else.
 */
export function joinedSteps(
  steps: Uint8Array,
  { width, height }: { readonly width: number; readonly height: number },
  factor: number,
  worst: boolean,
): Uint8Array {
  const columns = Math.ceil(width / factor);
  const rows = Math.ceil(height / factor);
  const joined = new Uint8Array(columns * rows).fill(MAX_STEPS);
  const counts = new Uint32Array(256);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let best = MAX_STEPS;
      let most = 0;
      const bottom = Math.min(height, (row + 1) * factor);
      const right = Math.min(width, (column + 1) * factor);
      for (let y = row * factor; y < bottom; y++) {
        for (let x = column * factor; x < right; x++) {
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
      joined[row * columns + column] = best;
      for (let y = row * factor; y < bottom; y++) {
        for (let x = column * factor; x < right; x++) {
          counts[steps[y * width + x] ?? 0] = 0;
        }
      }
    }
  }
  return joined;
}

export function context2d(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext('2d');
  if (!context) {
    throw new Error('this browser cannot draw');
  }
  return context;
}
