import { type Colouring, colourOf, cssColour, FADE, FADED, inkOn, MAX_STEPS, type Sign } from '../../picture/colour';
import type { Change } from '../../picture/difference';
import type { Box, Placement, Rect } from '../../picture/placement';
import type { RankBitmap } from './bitmap';
import { addRect, addSign } from './shapes';
import type { Painted, Window } from './sheet';
import { advance } from './slices';
import { type Theme, themeKind } from './theme';

/** From this size in pixels on, cells are drawn one by one; from the next, with thin lines between; below, as they are. */
const CELL_DETAIL = 28;
export const CELL_LINES = 4;

/** From this cell size on, signs are drawn, and from the next the coordinates under a rank's number. */
const CELL_SIGN = 7;
const CELL_COORDINATES = 50;

/** How many marks of one kind are drawn one by one. */
const MAX_MARKS = 4096;

/** Boxes are framed from this length in pixels on, so many at a time. */
const SMALLEST_BOX = 24;
const BOXES = 64;

/** Cells that are marked are shown at this size in pixels at least, so that one rank in a million is still seen. */
const SMALLEST_MARK = 6;

/** Every browser knows the first; each further name would be looked for among the fonts of the machine. */
const FONT = 'system-ui, sans-serif';

/** Squares of so many cells each way are at least a pixel of the screen, where a cell has a size in CSS pixels. */
export function factorFor(cell: number): number {
  let factor = 1;
  while (cell * devicePixelRatio * factor < 1) {
    factor *= 2;
  }
  return factor;
}

/** What is drawn on top of the colours. */
export interface Marks {
  /** The rank under the pointer or the keyboard; -1 for none. */
  readonly focus: number;
  readonly peers: readonly number[];
  /** Ranks that failed, by the file, by a person or by a smoke job. */
  readonly failed: readonly number[];
  /** Cells that a person is drawing a frame around. */
  readonly frame: Rect | null;
}

/** What a picture shows. */
export interface Picture {
  readonly placement: Placement;
  readonly colouring: Colouring;
  readonly worldSize: number;
  /** The lines that a large cell carries under its number. */
  readonly describe: (rank: number) => readonly string[];
  /** Which ranks stand out (not 0) where the others stand back; null where all are alike. */
  readonly stands: Uint8Array | null;
  /** How ranks differ from those of the layout that this one is compared with. */
  readonly changeOf: ((rank: number) => Change) | null;
}

/** A cell that is drawn by itself. */
interface Cell {
  readonly rank: number;
  readonly step: number;
  readonly rect: Rect;
}

/** A box where it is drawn, in pixels. */
type Frame = Box;

/** The cells of every step as one path. */
function outlines(cells: readonly Cell[]): Map<number, Path2D> {
  const paths = new Map<number, Path2D>();
  for (const { step, rect } of cells) {
    const path = paths.get(step) ?? new Path2D();
    paths.set(step, path);
    addRect(path, rect.x, rect.y, rect.width, rect.height, Math.min(6, rect.width * 0.12));
  }
  return paths;
}

/** Draws one frame. */
export class Painter {
  constructor(
    readonly context: CanvasRenderingContext2D,
    readonly theme: Theme,
    readonly window: Window,
  ) {}

  /** All that lies under the marks. It stops now and then, and may be gone on with in another frame. */
  *ground(picture: Picture, bitmap: RankBitmap): Generator<void> {
    this.#clear();
    const frames: Frame[] = [];
    yield* this.#frames(picture, frames);
    yield* this.#grounds(frames);
    if (this.window.cell >= CELL_DETAIL) {
      yield* this.#cells(picture, bitmap);
    } else {
      yield* this.#bitmap(picture.placement, bitmap);
    }
    yield* this.#signs(picture, bitmap);
    yield* this.#changes(picture);
    yield* this.#boxes(frames);
    this.#rulers(picture.placement);
  }

  /** What was painted aside, moved to where it belongs by now; where there is none, the cells alone. */
  place(painted: Painted | null, { placement }: Picture, bitmap: RankBitmap): void {
    const { context } = this;
    const { width, height, originX, originY, cell } = this.window;
    const from = painted?.window ?? { width: 0, height: 0, originX, originY, cell };
    const scale = cell / from.cell;
    // moved by whole pixels, texts stay sharp
    const pixels = (length: number) => Math.round(length * devicePixelRatio) / devicePixelRatio;
    const [x, y] = [pixels(originX - from.originX * scale), pixels(originY - from.originY * scale)];
    const [wide, high] = [pixels(from.width * scale), pixels(from.height * scale)];
    this.#clear();
    if (x > 0 || y > 0 || x + wide < width || y + high < height) {
      advance(this.#bitmap(placement, bitmap), Number.POSITIVE_INFINITY);
      context.clearRect(x, y, wide, high);
    }
    if (painted) {
      context.imageSmoothingEnabled = scale !== 1;
      context.drawImage(painted.image, x, y, wide, high);
    }
  }

  #clear(): void {
    const { context, window } = this;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, window.width, window.height);
  }

  /** The part of the picture that is on the screen, in whole cells. */
  #visible({ width, height }: Placement) {
    const { originX, originY, cell } = this.window;
    return {
      left: Math.max(0, Math.floor(-originX / cell)),
      right: Math.min(width, Math.ceil((this.window.width - originX) / cell)),
      top: Math.max(0, Math.floor(-originY / cell)),
      bottom: Math.min(height, Math.ceil((this.window.height - originY) / cell)),
    };
  }

  *#bitmap(placement: Placement, bitmap: RankBitmap): Generator<void> {
    const { context, window } = this;
    const { originX, originY, cell } = window;
    const { image, factor } = bitmap.at(factorFor(cell));
    context.imageSmoothingEnabled = false;
    context.drawImage(image, originX, originY, image.width * factor * cell, image.height * factor * cell);
    yield;
    if (cell >= CELL_LINES) {
      const { left, right, top, bottom } = this.#visible(placement);
      const line = Math.min(2, cell * 0.1);
      const [x, y] = [originX + left * cell, originY + top * cell];
      const [width, height] = [(right - left) * cell, (bottom - top) * cell];
      // drawn over the cells, which is many times as fast as to cut lines out of them
      context.fillStyle = this.theme.background;
      for (let column = left; column <= right; column++) {
        context.fillRect(originX + column * cell - line / 2, y, line, height);
        yield;
      }
      for (let row = top; row <= bottom; row++) {
        context.fillRect(x, originY + row * cell - line / 2, width, line);
        yield;
      }
    }
  }

  /** Cells one by one, of a row all of one colour in one go: only those in view. */
  *#cells(picture: Picture, bitmap: RankBitmap): Generator<void> {
    const { context, theme, window } = this;
    const { left, right, top, bottom } = this.#visible(picture.placement);
    const inset = Math.min(2.5, window.cell * 0.05);
    context.lineWidth = 1;
    for (let row = top; row < bottom; row++) {
      const cells = this.#row(picture, bitmap, row, left, right, inset);
      for (const [step, path] of outlines(cells)) {
        if (step === MAX_STEPS) {
          // nobody stands here: a rank in no module, or a place that packed placement does not launch
          context.setLineDash([3, 3]);
          context.strokeStyle = theme.muted;
          context.stroke(path);
          context.setLineDash([]);
        } else {
          context.globalAlpha = step >= FADE ? FADED : 1;
          context.fillStyle = cssColour(bitmap.palette.words[step & ~FADE] ?? 0);
          context.fill(path);
          context.strokeStyle = theme.outline;
          context.stroke(path);
          context.globalAlpha = 1;
        }
      }
      yield;
      for (const { rank, step, rect } of cells) {
        if (rank >= 0) {
          this.#label(rank, picture.describe, rect, this.#inkOf(rank, step, picture.colouring));
          yield;
        }
      }
    }
  }

  #row({ placement }: Picture, { steps }: RankBitmap, row: number, left: number, right: number, inset: number): Cell[] {
    const { originX, originY, cell } = this.window;
    const size = cell - 2 * inset;
    const cells: Cell[] = [];
    for (let column = left; column < right; column++) {
      if (placement.placeAt(column, row) >= 0) {
        const rect = { x: originX + column * cell + inset, y: originY + row * cell + inset, width: size, height: size };
        const step = steps[row * placement.width + column] ?? MAX_STEPS;
        cells.push({ rank: placement.rankAt(column, row), step, rect });
      }
    }
    return cells;
  }

  #inkOf(rank: number, step: number, colouring: Colouring): string {
    const value = colouring.valueOf(rank);
    return step >= FADE || value < 0 ? this.theme.muted : inkOn(colourOf(value, colouring, themeKind()));
  }

  #label(rank: number, describe: Picture['describe'], { x, y, width: size }: Rect, ink: string): void {
    const { context, window } = this;
    const { cell } = window;
    context.fillStyle = ink;
    context.textAlign = 'center';
    const centre = x + size / 2;
    if (cell < CELL_COORDINATES) {
      context.font = `600 ${Math.min(13, cell * 0.36)}px ${FONT}`;
      context.textBaseline = 'middle';
      context.fillText(String(rank), centre, y + size / 2 + 0.5, size - 4);
      return;
    }
    const big = Math.min(24, Math.max(12, cell * 0.22));
    const small = Math.max(8.5, Math.min(13, cell * 0.125));
    const line = small * 1.28;
    const lines = describe(rank).slice(0, Math.floor((size - big * 1.35) / line));
    context.textBaseline = 'alphabetic';
    let baseline = y + (size - big - lines.length * line) / 2 + big * 0.86;
    context.font = `600 ${big}px ${FONT}`;
    context.fillText(String(rank), centre, baseline, size - 8);
    context.font = `400 ${small}px ${FONT}`;
    baseline += small * 0.2;
    for (const text of lines) {
      baseline += line;
      context.fillText(text, centre, baseline, size - 6);
    }
  }

  /** What tells conditions apart without colour. */
  *#signs({ placement, colouring: { statuses } }: Picture, { steps }: RankBitmap): Generator<void> {
    const { cell, originX, originY } = this.window;
    if (!statuses?.some(({ sign }) => sign !== 'none') || cell < CELL_SIGN) {
      return;
    }
    const { left, right, top, bottom } = this.#visible(placement);
    const paths = new Map<Sign, Path2D>();
    for (let row = top; row < bottom; row++) {
      for (let column = left; column < right; column++) {
        const sign = statuses[steps[row * placement.width + column] ?? MAX_STEPS]?.sign ?? 'none';
        if (sign !== 'none') {
          const path = paths.get(sign) ?? new Path2D();
          paths.set(sign, path);
          addSign(path, sign, originX + column * cell, originY + row * cell, cell, cell < CELL_DETAIL);
        }
      }
      yield;
    }
    const { context } = this;
    context.strokeStyle = 'rgba(0, 0, 0, 0.72)';
    context.lineCap = 'round';
    for (const [sign, path] of paths) {
      context.lineWidth = Math.max(1, Math.min(2.5, cell * (sign === 'cross' ? 0.06 : 0.035)));
      context.stroke(path);
    }
    context.lineCap = 'butt';
  }

  /** Ranks that differ have a corner folded: filled where their coordinates differ, open where only their peers do. */
  *#changes({ placement, changeOf }: Picture): Generator<void> {
    const { context, theme, window } = this;
    const { cell, originX, originY } = window;
    if (!changeOf || cell < CELL_SIGN) {
      return;
    }
    const { left, right, top, bottom } = this.#visible(placement);
    const size = Math.min(16, cell * (cell < CELL_DETAIL ? 0.4 : 0.24));
    const inset = cell * 0.05;
    const [filled, open] = [new Path2D(), new Path2D()];
    for (let row = top; row < bottom; row++) {
      for (let column = left; column < right; column++) {
        const rank = placement.rankAt(column, row);
        const change = rank < 0 ? 'same' : changeOf(rank);
        if (change !== 'same') {
          const path = change === 'peers' ? open : filled;
          const x = originX + (column + 1) * cell - inset;
          const y = originY + row * cell + inset;
          path.moveTo(x - size, y);
          path.lineTo(x, y);
          path.lineTo(x, y + size);
          path.closePath();
        }
      }
      yield;
    }
    context.fillStyle = theme.foreground;
    context.fill(filled);
    context.fillStyle = theme.background;
    context.fill(open);
    context.strokeStyle = theme.background;
    context.lineWidth = 1;
    context.stroke(filled);
    context.strokeStyle = theme.foreground;
    context.stroke(open);
  }

  /** The boxes in view: nodes, NVLink domains and slices. */
  *#frames({ placement }: Picture, into: Frame[]): Generator<void> {
    const { originX, originY, cell, width, height } = this.window;
    const view = { x: -originX / cell, y: -originY / cell, width: width / cell, height: height / cell };
    for (const { x, y, width, height, level, label } of placement.boxesIn(view, SMALLEST_BOX / cell)) {
      const out = level > 0 ? Math.min(cell * 0.32, 9) : level < 0 ? -0.5 : Math.min(cell * 0.09, 3.5);
      // a box around boxes has their names inside it
      const above = level > 0 ? Math.min(cell * 0.9, 22) : out;
      into.push({
        label,
        level,
        x: originX + x * cell - out,
        y: originY + y * cell - above,
        width: width * cell + 2 * out,
        height: height * cell + out + above,
      });
      yield;
    }
  }

  /** The grounds of boxes, under the cells. */
  *#grounds(frames: readonly Frame[]): Generator<void> {
    const { context, theme } = this;
    context.fillStyle = theme.boxFill;
    for (const path of this.#paths(frames)) {
      context.fill(path);
      yield;
    }
  }

  /** The lines and names of boxes, over the cells. */
  *#boxes(frames: readonly Frame[]): Generator<void> {
    const { context, theme, window } = this;
    const size = Math.min(12.5, window.cell * 0.54);
    context.strokeStyle = theme.box;
    for (const level of new Set(frames.map((frame) => frame.level))) {
      context.lineWidth = level === 0 ? 1 : 1.5;
      context.setLineDash(level < 0 ? [4, 3] : []);
      for (const path of this.#paths(frames.filter((frame) => frame.level === level))) {
        context.stroke(path);
        yield;
      }
    }
    context.setLineDash([]);
    context.font = `500 ${size}px ${FONT}`;
    context.textAlign = 'left';
    context.textBaseline = 'bottom';
    context.fillStyle = theme.muted;
    for (const { x, y, width, label } of frames) {
      if (size >= 8 && label !== '') {
        context.fillText(label, x + 1, y - 2, width);
        yield;
      }
    }
  }

  /** Boxes as paths of a few each. */
  *#paths(frames: readonly Frame[]): Generator<Path2D> {
    for (let from = 0; from < frames.length; from += BOXES) {
      const path = new Path2D();
      for (const { x, y, width, height } of frames.slice(from, from + BOXES)) {
        addRect(path, x, y, width, height, Math.min(8, this.window.cell * 0.2));
      }
      yield path;
    }
  }

  /** Numbers along rows and columns, as many as have room. */
  #rulers({ rulers }: Placement): void {
    const { context, theme, window } = this;
    const { originX, originY, cell } = window;
    context.fillStyle = theme.muted;
    context.font = `400 11px ${FONT}`;
    for (const { along, at, start, count, name, first } of rulers) {
      const across = along === 'x';
      context.textAlign = across ? 'center' : 'right';
      context.textBaseline = across ? 'top' : 'middle';
      const room = across ? 9 + 7 * String(first + count).length : 16;
      const every = Math.max(1, 2 ** Math.ceil(Math.log2(room / cell)));
      if (cell * count < 3 * room) {
        continue;
      }
      for (let i = 0; i < count; i += every) {
        const text = i === 0 ? `${name} ${first}` : String(first + i);
        const middle = (start + i + 0.5) * cell;
        if (across) {
          context.fillText(text, originX + middle, originY + at * cell + 8);
        } else {
          context.fillText(text, originX + at * cell - 9, originY + middle);
        }
      }
    }
  }

  /** What is drawn on top. */
  marks({ placement, colouring }: Picture, { focus, peers, failed, frame }: Marks): void {
    const { context, theme, window } = this;
    const { cell, originX, originY } = window;
    const line = cell < SMALLEST_MARK ? 2 : Math.max(1.5, Math.min(3, cell * 0.035));
    const rings = this.#rings(placement, peers);
    this.#strokeTwice(rings, theme.foreground, line);
    const crosses = new Path2D();
    for (const rank of failed.slice(0, MAX_MARKS)) {
      // colours of conditions bring their own cross
      if (colouring.statuses?.[colouring.valueOf(rank)]?.sign !== 'cross') {
        this.#addCross(crosses, placement, rank);
      }
    }
    const failures = this.#rings(placement, failed);
    this.#strokeTwice(failures, theme.error, Math.max(1.5, line));
    this.#strokeTwice(crosses, theme.error, Math.max(1.5, Math.min(3, cell * 0.05)));
    if (focus >= 0) {
      this.#strokeTwice(this.#rings(placement, [focus]), theme.foreground, Math.max(2.5, Math.min(5, cell * 0.06)));
    }
    if (frame) {
      context.setLineDash([5, 4]);
      context.strokeStyle = theme.focus;
      context.lineWidth = 2;
      context.strokeRect(originX + frame.x * cell, originY + frame.y * cell, frame.width * cell, frame.height * cell);
      context.setLineDash([]);
    }
  }

  /** A line in one colour inside a wider one in the background's: it shows on every fill. */
  #strokeTwice(path: Path2D, colour: string, width: number): void {
    const { context, theme } = this;
    context.strokeStyle = theme.background;
    context.lineWidth = width * 2.2;
    context.stroke(path);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke(path);
  }

  /** Outlines of cells in view; small ones that fall on each other are drawn once. */
  #rings(placement: Placement, ranks: readonly number[]): Path2D {
    const { originX, originY, cell, width, height } = this.window;
    const path = new Path2D();
    const size = Math.max(cell, SMALLEST_MARK);
    const shift = (size - cell) / 2;
    const seen = new Set<number>();
    for (const rank of ranks.slice(0, MAX_MARKS)) {
      const at = placement.cellOf(rank);
      if (at) {
        // small marks lie on whole pixels, or they would blur
        const snap = cell < SMALLEST_MARK ? Math.round : (value: number) => value;
        const [x, y] = [snap(originX + at.x * cell - shift), snap(originY + at.y * cell - shift)];
        const spot = Math.round(x / 3) * 65_536 + Math.round(y / 3);
        const inView = x + size > 0 && y + size > 0 && x < width && y < height;
        if (inView && (cell >= SMALLEST_MARK || !seen.has(spot))) {
          seen.add(spot);
          addRect(path, x + 1, y + 1, size - 2, size - 2, Math.min(7, size * 0.14));
        }
      }
    }
    return path;
  }

  #addCross(path: Path2D, placement: Placement, rank: number): void {
    const { originX, originY, cell } = this.window;
    const at = placement.cellOf(rank);
    if (at && cell >= CELL_LINES) {
      // a cell with a number keeps it: the cross goes into its corner
      const [from, to] = cell < CELL_DETAIL ? [0.25, 0.75] : [0.1, 0.28];
      const [x, y] = [originX + at.x * cell, originY + at.y * cell];
      path.moveTo(x + cell * (1 - to), y + cell * from);
      path.lineTo(x + cell * (1 - from), y + cell * to);
      path.moveTo(x + cell * (1 - from), y + cell * from);
      path.lineTo(x + cell * (1 - to), y + cell * to);
    }
  }
}
