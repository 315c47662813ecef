import { widthOf } from './labels';

/** What something is painted with: a role that the theme gives a colour, or a fill that is the same in all themes. */
export type Paint = 'text' | 'muted' | 'box' | 'boxFill' | 'ground' | 'error' | 'warning' | `#${string}`;

/** One mark of a diagram; lengths in pixels. */
export type Shape =
  /** Shapes whose place is counted from `y` down. */
  | { readonly kind: 'group'; readonly y: number; readonly shapes: readonly Shape[] }
  | {
      readonly kind: 'rect';
      readonly x: number;
      readonly y: number;
      readonly width: number;
      readonly height: number;
      readonly fill?: Paint;
      readonly stroke?: Paint;
      /** How much of the ground shows through: 0 none. */
      readonly fade?: number;
    }
  | {
      readonly kind: 'path';
      /** As the attribute `d` of SVG. */
      readonly d: string;
      readonly fill?: Paint;
      readonly stroke?: Paint;
      readonly lineWidth?: number;
      readonly fade?: number;
    }
  | {
      readonly kind: 'text';
      readonly x: number;
      /** The base line. */
      readonly y: number;
      readonly words: string;
      readonly size: number;
      readonly paint: Paint;
      readonly weight?: number;
      readonly anchor?: 'middle' | 'end';
    };

/** A drawing that is no picture of ranks: bars, bands and texts. */
export interface Diagram {
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly Shape[];
}

/** The space between entries of a legend, in pixels. */
const LEGEND_GAP = 18;
const SWATCH = 13;

/** One entry of the legend of a diagram. */
export interface Key {
  readonly fill: Paint;
  readonly words: string;
  readonly stroke?: Paint;
  readonly fade?: number;
}

/** Swatches with their words in as many lines as they need, and the height of these. */
export function keysOf(
  keys: readonly Key[],
  x: number,
  y: number,
  width: number,
): { readonly shapes: readonly Shape[]; readonly height: number } {
  const size = 12;
  const line = 20;
  const shapes: Shape[] = [];
  let [left, top] = [x, y];
  for (const { words, ...look } of keys) {
    const wide = SWATCH + 7 + widthOf(words, size) + LEGEND_GAP;
    if (left > x && left + wide - LEGEND_GAP > x + width) {
      left = x;
      top += line;
    }
    shapes.push(
      { kind: 'rect', x: left, y: top, width: SWATCH, height: SWATCH, ...look },
      { kind: 'text', x: left + SWATCH + 7, y: top + 11, words, size, paint: 'text' },
    );
    left += wide;
  }
  return { shapes, height: keys.length > 0 ? top - y + line : 0 };
}
