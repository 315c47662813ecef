import { type Colouring, FADE, isRamp, MAX_STEPS } from './colour';

/** How the values of cells that are smaller than a pixel become one. */
export type Joining =
  /** The worst condition: one failed rank in a million is seen. */
  | 'worst'
  /** The mean of ordered values: the ramp is even to the eye, so that the mean value has the mean colour. */
  | 'mean'
  /** Categories by their shares: neighbouring squares that are mixed show each as often as it occurs among their cells. */
  | 'share';

/** How the values of a colouring are joined. */
export const joiningOf = (colouring: Colouring): Joining =>
  colouring.scale === 'status' ? 'worst' : isRamp(colouring) ? 'mean' : 'share';

/** Shares are spread over tiles of so many squares each way: less than an eye takes for a pattern. */
export const TILE = 8;

/**
 * Joins squares of `factor` x `factor` cells, each a step of a palette. Faded ranks count only where there are no others, and empty cells
 * count only where there is nothing else.
 * @param from the first row of squares, a multiple of `TILE`, and `to` the one after the last
 */
export function joinedSteps(
  steps: Uint8Array,
  { width, height }: { readonly width: number; readonly height: number },
  factor: number,
  joining: Joining,
  from = 0,
  to = Math.ceil(height / factor),
): Uint8Array {
  if (factor === 1) {
    return steps.subarray(from * width, to * width);
  }
  const columns = Math.ceil(width / factor);
  const joined = new Uint8Array(columns * (to - from));
  if (joining === 'share') {
    const tiles = new ShareTiles(steps, width, height, factor);
    for (let top = from; top < to; top += TILE) {
      tiles.join(joined, columns, from, top, Math.min(to, top + TILE));
    }
    return joined;
  }
  for (let row = from; row < to; row++) {
    const squares = joined.subarray((row - from) * columns, (row - from + 1) * columns);
    const top = row * factor;
    const rows = steps.subarray(top * width, Math.min(height, top + factor) * width);
    joinRow(squares, rows, width, factor, joining === 'worst' ? worstOf : meanOf);
  }
  return joined;
}

/** The step of one square: `rows` are all rows of it, of `width` cells each. */
type SquareStep = (rows: Uint8Array, width: number, left: number, right: number) => number;

// A loop in a function of its own is compiled as a whole; inside another loop it would be left and entered again each time.

/** Joins the squares of a row of them. Most squares of four are of one kind: then there is nothing to weigh. */
function joinRow(into: Uint8Array, rows: Uint8Array, width: number, factor: number, stepOf: SquareStep): void {
  for (let column = 0; column < into.length; column++) {
    const left = column * factor;
    const step = rows[left] ?? MAX_STEPS;
    const same =
      factor === 2 && rows[left + 1] === step && rows[left + width] === step && rows[left + width + 1] === step;
    into[column] = same ? step : stepOf(rows, width, left, Math.min(width, left + factor));
  }
}

/** The highest step of the ranks that are not faded, or of those that are where there are no others. */
function worstOf(rows: Uint8Array, width: number, left: number, right: number): number {
  let worst = MAX_STEPS;
  let most = -1;
  for (let start = 0; start < rows.length; start += width) {
    for (let at = start + left; at < start + right; at++) {
      const step = rows[at] ?? MAX_STEPS;
      const weight = step === MAX_STEPS ? -1 : step ^ FADE;
      if (weight > most) {
        most = weight;
        worst = step;
      }
    }
  }
  return worst;
}

/** The mean step of the ranks that are not faded, or of those that are where there are no others. */
function meanOf(rows: Uint8Array, width: number, left: number, right: number): number {
  let [sum, count, faded, fadedCount] = [0, 0, 0, 0];
  for (let start = 0; start < rows.length; start += width) {
    for (let at = start + left; at < start + right; at++) {
      const step = rows[at] ?? MAX_STEPS;
      if (step < MAX_STEPS) {
        sum += step;
        count++;
      } else if (step !== MAX_STEPS) {
        faded += step - FADE;
        fadedCount++;
      }
    }
  }
  return count > 0 ? Math.round(sum / count) : fadedCount > 0 ? FADE + Math.round(faded / fadedCount) : MAX_STEPS;
}

/** Joins tiles of squares by the shares of the steps in them. */
class ShareTiles {
  readonly #counts = new Uint32Array(256);
  /** The squares of a tile in which several steps occur. */
  readonly #mixed: number[] = [];

  constructor(
    readonly steps: Uint8Array,
    readonly width: number,
    readonly height: number,
    readonly factor: number,
  ) {}

  /** Joins the squares of rows `[top, bottom)` into `joined`, whose first row is `from`. */
  join(joined: Uint8Array, columns: number, from: number, top: number, bottom: number): void {
    for (let left = 0; left < columns; left += TILE) {
      for (let row = top; row < bottom; row++) {
        for (let column = left; column < Math.min(columns, left + TILE); column++) {
          this.#look(joined, (row - from) * columns + column, column, row);
        }
      }
      this.#spread(joined);
    }
  }

  /** Writes the step of a square of one kind; one that is mixed waits until all of its tile has been counted. */
  #look(joined: Uint8Array, at: number, column: number, row: number): void {
    const { steps, width, height, factor } = this;
    const [right, bottom] = [Math.min(width, (column + 1) * factor), Math.min(height, (row + 1) * factor)];
    const first = steps[row * factor * width + column * factor] ?? MAX_STEPS;
    if (isUniform(steps, width, first, column * factor, right, row * factor, bottom)) {
      joined[at] = first;
      return;
    }
    this.#mixed.push(at);
    for (let y = row * factor; y < bottom; y++) {
      for (let x = column * factor; x < right; x++) {
        const step = steps[y * width + x] ?? MAX_STEPS;
        this.#counts[step] = (this.#counts[step] ?? 0) + 1;
      }
    }
  }

  /** Gives the mixed squares their steps, in the order of the palette, each step as often as it occurs. */
  #spread(joined: Uint8Array): void {
    const counts = this.#counts;
    counts[MAX_STEPS] = 0;
    const cells = counts.reduce((sum, count) => sum + count, 0);
    let step = 0;
    let passed = counts[0] ?? 0;
    for (const [i, at] of this.#mixed.entries()) {
      // the step of the cell in the middle of this square's part, were all cells sorted
      const middle = ((i + 0.5) * cells) / this.#mixed.length;
      while (passed < middle && step < 255) {
        step++;
        passed += counts[step] ?? 0;
      }
      joined[at] = step;
    }
    this.#mixed.length = 0;
    counts.fill(0);
  }
}

function isUniform(
  steps: Uint8Array,
  width: number,
  first: number,
  left: number,
  right: number,
  top: number,
  bottom: number,
): boolean {
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      if (steps[y * width + x] !== first) {
        return false;
      }
    }
  }
  return true;
}
