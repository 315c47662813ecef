import type { ResolvedLayout } from '../layout';
import { joinedSteps, joiningOf } from './aggregate';
import { type Colouring, FADE, type Ground, MAX_STEPS, type Palette, paletteOf, writeValues } from './colour';
import type { Difference } from './difference';
import type { Sketch } from './drawing';
import type { Example } from './example';
import type { Placement, Space } from './placement';

/** What a picture of ranks shows once there is a space for it. */
export interface Picture {
  readonly layout: ResolvedLayout;
  readonly placement: Placement;
  readonly colouring: Colouring;
  /** The lines that a large cell carries under its number. */
  readonly describe: (rank: number) => readonly string[];
  readonly example: Example | null;
  /** How ranks differ from those of the layout that this one is compared with. */
  readonly difference: Difference | null;
  /** Which ranks stand out (not 0) where the others stand back; null where all are alike. */
  readonly stands: Uint8Array | null;
}

/** A picture in a space, as large as that is. */
export function pictureOf(
  layout: ResolvedLayout,
  { colouring, place, describe, example = null }: Sketch,
  space: Space,
  difference: Difference | null,
  stands: Uint8Array | null = difference?.changes ?? null,
): Picture {
  const placement = place(space);
  const arranged = colouring.arranged?.(placement) ?? colouring;
  return { layout, placement, colouring: arranged, describe, example, difference, stands };
}

/** The cells of a picture with their colours. */
export class Cells {
  /** The step of every cell in the palette, row by row; a byte a cell. */
  readonly steps: Uint8Array;
  readonly palette: Palette;
  #seen: ReadonlySet<number> | undefined;
  #unset: boolean | undefined;

  constructor(
    readonly picture: Picture,
    ground: Ground,
  ) {
    const { placement, colouring } = picture;
    this.palette = paletteOf(colouring, ground);
    this.steps = new Uint8Array(placement.width * placement.height).fill(MAX_STEPS);
  }

  /** Colours the cells. It stops now and then, so that something else can be done meanwhile. */
  *colour(): Generator<void> {
    const { layout, placement, colouring, stands } = this.picture;
    const { codes } = this.palette;
    const ranks = new Uint8Array(layout.worldSize).fill(MAX_STEPS);
    writeValues(colouring, ranks, (value) => codes[value] ?? MAX_STEPS);
    if (stands) {
      fade(ranks, stands);
    }
    yield* placement.spread(ranks, this.steps, MAX_STEPS);
  }

  /** The steps of squares of `factor` x `factor` cells, as `joinedSteps` has them. */
  joined(factor: number, from?: number, to?: number): Uint8Array {
    const { placement, colouring } = this.picture;
    return joinedSteps(this.steps, placement, factor, joiningOf(colouring), from, to);
  }

  /** The steps that occur, faded or not. */
  get seen(): ReadonlySet<number> {
    this.#seen ??= stepsIn(this.steps);
    return this.#seen;
  }

  /** Whether a rank has no value: more cells have none than there are cells without a rank. */
  get unset(): boolean {
    this.#unset ??= emptyIn(this.steps) > this.steps.length - this.picture.layout.worldSize;
    return this.#unset;
  }
}

/** Fades the steps of ranks that do not stand out. */
function fade(steps: Uint8Array, stands: Uint8Array): void {
  for (let rank = 0; rank < steps.length; rank++) {
    const step = steps[rank] ?? MAX_STEPS;
    if (step !== MAX_STEPS && stands[rank] === 0) {
      steps[rank] = step | FADE;
    }
  }
}

function stepsIn(steps: Uint8Array): ReadonlySet<number> {
  const counts = new Uint8Array(FADE);
  for (let i = 0; i < steps.length; i++) {
    counts[(steps[i] ?? 0) & ~FADE] = 1;
  }
  return new Set([...counts.keys()].filter((step) => counts[step] === 1));
}

function emptyIn(steps: Uint8Array): number {
  let empty = 0;
  for (let i = 0; i < steps.length; i++) {
    empty += steps[i] === MAX_STEPS ? 1 : 0;
  }
  return empty;
}
