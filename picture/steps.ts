import { type Colouring, FADE, MAX_STEPS, type Palette, writeValues } from './colour';
import type { Placement } from './placement';

/**
 * Writes the step in the palette of every cell of a picture, row by row. It stops now and then, so that something else can be
 * done meanwhile.
 * @param into a byte a cell
 * @param highlighted which ranks are not faded (not 0); null where none is faded
 */
export function* writeSteps(
  placement: Placement,
  colouring: Colouring,
  palette: Palette,
  worldSize: number,
  highlighted: Uint8Array | null,
  into: Uint8Array,
): Generator<void> {
  const ranks = new Uint8Array(worldSize).fill(MAX_STEPS);
  writeValues(colouring, ranks, (value) => palette.codes[value] ?? MAX_STEPS);
  if (highlighted) {
    fade(ranks, highlighted);
  }
  yield* placement.spread(ranks, into, MAX_STEPS);
}

/** Fades the steps of ranks that are not highlighted. */
function fade(steps: Uint8Array, highlighted: Uint8Array): void {
  for (let rank = 0; rank < steps.length; rank++) {
    const step = steps[rank] ?? MAX_STEPS;
    if (step !== MAX_STEPS && highlighted[rank] === 0) {
      steps[rank] = step | FADE;
    }
  }
}

/** The steps that occur, faded or not. */
export function stepsSeen(steps: Uint8Array): ReadonlySet<number> {
  const counts = new Uint8Array(FADE);
  for (let i = 0; i < steps.length; i++) {
    counts[(steps[i] ?? 0) & ~FADE] = 1;
  }
  return new Set([...counts.keys()].filter((step) => counts[step] === 1));
}

/** Whether a rank has no value: more cells have none than there are cells without a rank. */
export function hasUnset(steps: Uint8Array, worldSize: number): boolean {
  let empty = 0;
  for (let i = 0; i < steps.length; i++) {
    empty += steps[i] === MAX_STEPS ? 1 : 0;
  }
  return empty > steps.length - worldSize;
}
