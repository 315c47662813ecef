import { linesOf, widthOf } from './labels';
import type { Role } from './paper';

/** What something is painted with: a role that the theme gives a colour, or a fill that is the same in all themes. */
export type Paint = Role | `#${string}`;

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

type TextShape = Extract<Shape, { kind: 'text' }>;

/** The size of the texts of a diagram, and from one line to the next, in pixels. */
const TEXT_SIZE = 12;
const LINE = 18;

/** A text whose base line is at `y`: small and in the colour of text, unless `look` says otherwise. */
export const textAt = (
  x: number,
  y: number,
  words: string,
  look: Partial<Omit<TextShape, 'kind' | 'x' | 'y' | 'words'>> = {},
): TextShape => ({ kind: 'text', x, y, words, size: TEXT_SIZE, paint: 'text', ...look });

/** The title of a section, at the top of it. */
export const titleAt = (y: number, words: string): TextShape => textAt(0, y + 13, words, { size: 14, weight: 600 });

/** A part of a diagram that begins at 0 and knows how high it is, in pixels. */
export interface Part {
  readonly shapes: readonly Shape[];
  readonly height: number;
}

/** Parts one under another, `gap` pixels apart. */
export function stacked(parts: readonly Part[], gap = 0): Part {
  const shapes: Shape[] = [];
  let y = 0;
  for (const part of parts) {
    shapes.push({ kind: 'group', y, shapes: part.shapes });
    y += part.height + gap;
  }
  return { shapes, height: Math.max(0, y - gap) };
}

/** A text in as many lines as it needs. */
export function wrapped(text: string, width: number, paint: Paint): Part {
  const lines = linesOf(text, width, TEXT_SIZE);
  return { shapes: lines.map((line, i) => textAt(0, 12 + i * LINE, line, { paint })), height: lines.length * LINE };
}

/** The space between entries of a legend, in pixels. */
const LEGEND_GAP = 18;
const SWATCH = 13;

/** One entry of the legend of a diagram: a swatch, or the whisker of a range. */
export interface Key {
  readonly fill: Paint | 'whisker';
  readonly words: string;
  readonly stroke?: Paint;
  readonly fade?: number;
}

/** A line from `left` to `right` with an end on both sides. */
export const whisker = (left: number, right: number, y: number): Shape => ({
  kind: 'path',
  d: `M${left} ${y - 3}L${left} ${y + 3}M${left} ${y}L${right} ${y}M${right} ${y - 3}L${right} ${y + 3}`,
  stroke: 'text',
  lineWidth: 1.5,
});

/** A legend in as many lines as it needs. */
export function keysOf(keys: readonly Key[], width: number): Part {
  const shapes: Shape[] = [];
  let [x, y] = [0, 0];
  for (const { words, fill, ...look } of keys) {
    const wide = SWATCH + 7 + widthOf(words, TEXT_SIZE);
    if (x > 0 && x + wide > width) {
      x = 0;
      y += LINE + 2;
    }
    shapes.push(
      fill === 'whisker'
        ? whisker(x, x + SWATCH, y + SWATCH / 2)
        : { kind: 'rect', x, y, width: SWATCH, height: SWATCH, fill, ...look },
      textAt(x + SWATCH + 7, y + 11, words),
    );
    x += wide + LEGEND_GAP;
  }
  return { shapes, height: keys.length > 0 ? y + LINE + 2 : 0 };
}
