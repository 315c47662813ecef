import { rgb } from 'd3-color';
import { scaleLinear } from 'd3-scale';
import type { Placement } from './placement';

/** Okabe and Ito's fills, told apart with any colour vision; black is left to text and outlines. */
const CATEGORICAL: readonly `#${string}`[] = [
  '#56b4e9',
  '#e69f00',
  '#009e73',
  '#f0e442',
  '#0072b2',
  '#d55e00',
  '#cc79a7',
];

/** How many categories have a colour of their own. */
export const HUES = CATEGORICAL.length;

/** What tells categories apart without colour, where cells are too small for a number. */
const HUE_SIGNS: readonly Sign[] = ['none', 'stripes', 'dots', 'none', 'stripes', 'dots', 'none'];

/** Seventeen even steps of matplotlib's viridis, which is read as an order with any colour vision and in grey. */
const VIRIDIS = [
  ...['#440154', '#48186a', '#472d7b', '#424086', '#3b528b', '#33638d', '#2c728e', '#26828e', '#21918c'],
  ...['#1fa088', '#28ae80', '#3fbc73', '#5ec962', '#84d44b', '#addc30', '#d8e219', '#fde725'],
];

/** From 0 to 1. Pure, so that bundles that draw nothing leave it out. */
const ramp = /* @__PURE__ */ scaleLinear(
  /* @__PURE__ */ VIRIDIS.map((_, i) => i / 16),
  VIRIDIS,
);

/** The part of the ramp that stands out from the background; on paper, which turns dark on a dark page, from both. */
const RAMPS = { dark: [0.3, 1], light: [0, 0.9], paper: [0.3, 0.92] } as const;

/** More values than this are drawn in as many steps: half of what a byte holds, as the other half is for faded ranks. */
export const MAX_STEPS = 126;

/** How values become colours. */
type Scale =
  /** Kinds without an order; colours come round again where there are more than seven. */
  | 'kinds'
  /** An order from the first value to the last, as a ramp where there are more than seven. */
  | 'ordered'
  /** A condition of ranks, the worst last, with fills and signs of its own. */
  | 'status';

/** A fill and a sign that says the same without colour. */
export interface Status {
  readonly label: string;
  readonly fill: string;
  readonly sign: Sign;
}

/** Whether the sign of a rank's colour is a cross already, as that of a failed rank is. */
export const isCrossed = (colouring: Colouring, rank: number): boolean =>
  colouring.statuses?.[colouring.valueOf(rank)]?.sign === 'cross';

/** A mark on a cell that says its condition without colour. */
export type Sign = 'none' | 'cross' | 'stripes' | 'dots';

/** How ranks are coloured: a value a rank, and what each value is called. */
export interface Colouring {
  readonly name: string;
  readonly scale: Scale;
  readonly values: number;
  /** What a rank without a value is; `without` the name of the colouring where it is left out. */
  readonly none?: string;
  /** How many neighbouring ranks have one value; 1 where it is left out. */
  readonly grain?: number;
  /** The value of a rank, from 0; -1 where it has none. */
  readonly valueOf: (rank: number) => number;
  readonly label: (value: number) => string;
  /** One a value, for the scale `status`. */
  readonly statuses?: readonly Status[];
  /** The colour of each value as its place in the list of seven, where colours do not just repeat in turn. */
  readonly hues?: Uint8Array;
  /** The same colouring with different colours for values that are neighbours in a picture. */
  readonly arranged?: (placement: Placement) => Colouring;
  /** As `writeValues`, where there is a faster way than to ask for each rank. */
  readonly fill?: (into: RankNumbers, code: (value: number) => number) => void;
}

/** A number for each rank: its value, or the code of that as a byte. */
export type RankNumbers = Int32Array | Uint8Array;

/** A colouring by the condition of ranks. */
export function statusColouring(
  name: string,
  statuses: readonly Status[],
  statusOf: (rank: number) => number,
): Colouring {
  return {
    name,
    scale: 'status',
    values: statuses.length,
    valueOf: statusOf,
    label: (i) => statuses[i]?.label ?? '',
    statuses,
  };
}

/** Writes the code of its value for every rank that has one, and leaves the others as they are. */
export function writeValues(colouring: Colouring, into: RankNumbers, code: (value: number) => number): void {
  if (colouring.fill) {
    colouring.fill(into, code);
    return;
  }
  for (let rank = 0; rank < into.length; rank++) {
    const value = colouring.valueOf(rank);
    if (value >= 0) {
      into[rank] = code(value);
    }
  }
}

/** Whether values are steps of a ramp. */
export const isRamp = ({ values, scale }: Colouring): boolean => scale === 'ordered' && values > CATEGORICAL.length;

/** Whether each colour is that of several values. */
export const isCycle = ({ values, scale }: Colouring): boolean => scale === 'kinds' && values > CATEGORICAL.length;

/** Blocks of one value smaller than this, in pixels, cannot be told apart by repeating colours. */
const SMALLEST_KIND = 8;

/** About how large blocks of one value are, in pixels as the cells. */
export const grainSize = ({ grain = 1 }: Colouring, cell: number): number => cell * Math.sqrt(grain);

/** Whether cells of a size are drawn as one ground, since their colours would say nothing. */
export const isPlain = (colouring: Colouring, cell: number): boolean =>
  isCycle(colouring) && grainSize(colouring, cell) < SMALLEST_KIND;

/** The background of a picture: ramps leave out the end that is too close to it. */
export type Ground = keyof typeof RAMPS;

/** The colour of a value; transparent where a rank has none. */
export function colourOf(value: number, colouring: Colouring, ground: Ground): string {
  if (value < 0) {
    return 'transparent';
  }
  if (isRamp(colouring)) {
    const [from, to] = RAMPS[ground];
    return rgb(ramp(from + ((to - from) * value) / (colouring.values - 1))).formatHex();
  }
  const hue = colouring.hues?.[value] ?? value % HUES;
  return colouring.statuses?.[value]?.fill ?? CATEGORICAL[hue] ?? '';
}

/** The fill of the module at an index, wherever modules are shown. */
export const moduleFill = (index: number): `#${string}` => CATEGORICAL[index % CATEGORICAL.length] ?? '#000000';

/** Marks the step of a rank that is faded. */
export const FADE = 128;

/** The colours of a bitmap: at most 128, and the same faded. */
export interface Palette {
  /** Little-endian RGBA words: one a step, at `MAX_STEPS` the one of ranks without a value, and above 127 all of them faded. */
  readonly words: Uint32Array;
  /** The step of every value. */
  readonly codes: Uint8Array;
  /** The sign of every step. */
  readonly signs: readonly Sign[];
}

/** How much of its colour a faded rank keeps. */
export const FADED = 0.22;

export function paletteOf(colouring: Colouring, ground: Ground): Palette {
  const { values } = colouring;
  const squeezed = values > MAX_STEPS && isRamp(colouring) ? MAX_STEPS / values : 1;
  const codes = colouring.hues ?? new Uint8Array(values);
  for (let value = 0; value < values && !colouring.hues; value++) {
    codes[value] = isCycle(colouring) ? value % HUES : Math.floor(value * squeezed) % MAX_STEPS;
  }
  const words = new Uint32Array(256);
  const steps = isCycle(colouring) ? HUES : Math.min(values, MAX_STEPS);
  for (let step = 0; step < steps; step++) {
    const fill = isCycle(colouring) ? CATEGORICAL[step] : colourOf(Math.floor(step / squeezed), colouring, ground);
    const { r, g, b } = rgb(fill ?? '');
    const colour = (b << 16) | (g << 8) | r;
    words[step] = (255 << 24) | colour;
    words[FADE + step] = (Math.round(255 * FADED) << 24) | colour;
  }
  const signs = Array.from({ length: steps }, (_, step) =>
    colouring.hues ? (HUE_SIGNS[step] ?? 'none') : (colouring.statuses?.[step]?.sign ?? 'none'),
  );
  return { words, codes, signs };
}

/** A word of a palette as a colour of the style sheet. */
export const cssColour = (word: number): string => `rgb(${word & 255}, ${(word >> 8) & 255}, ${(word >> 16) & 255})`;

/** Black or white, whichever reads better on a fill (relative luminance, WCAG 2). */
export function inkOn(fill: string): '#000000' | '#ffffff' {
  const { r, g, b } = rgb(fill);
  const linear = (value: number) =>
    value <= 0.04045 * 255 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.18 ? '#000000' : '#ffffff';
}
