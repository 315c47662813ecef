import type { Picture } from '../../picture/cells';
import {
  colourOf,
  cssColour,
  FADE,
  FADED,
  inkOn,
  isCrossed,
  isPlain,
  MAX_STEPS,
  type Sign,
} from '../../picture/colour';
import { type Example, shownExample } from '../../picture/example';
import { type Block, firstBeyond, type Geometry, type PanelGeometry, type Run, runsOf } from '../../picture/geometry';
import { blockText, TITLE_SIZE } from '../../picture/labels';
import { linksOf, ringOf } from '../../picture/links';
import type { Rect, Space } from '../../picture/placement';
import { RULER, type Rulers } from '../../picture/rulers';
import type { RankBitmap } from './bitmap';
import { addCross, addRect, addSign } from './shapes';
import type { Painted, Window } from './sheet';
import { advance } from './slices';
import { type Theme, themeKind } from './theme';

/** From this size in pixels on, cells are drawn one by one; from the next, with thin lines between; below, as they are. */
const CELL_DETAIL = { width: 26, height: 17 };
export const CELL_LINES = 4;

/** From this cell size on, signs are drawn, and from the next the coordinates under a rank's number. */
const CELL_SIGN = 7;
const CELL_COORDINATES = { width: 42, height: 40 };

/** The mean width of a character, as a share of the size of the text. */
const CHARACTER = 0.54;

/** The smallest text in cells, in pixels. */
const SMALLEST_TEXT = 9;

/** How many marks of one kind are drawn one by one. */
const MAX_MARKS = 4096;

/** More small cells than this are shown by dimming the others, not by rings; the fewer they are, the larger they are drawn. */
const MAX_RINGS = 32;
const MAX_ENLARGED = 200;
const SMALL_CELL = 12;

/** Cells that are marked are shown at this size in pixels at least, so that one rank in a million is still seen. */
const SMALLEST_MARK = 6;

/** How far the rest of the picture stands back where one group is looked at alone: more where colours alone are left of it. */
const ISOLATED = { numbered: 0.7, crowded: 0.85, plain: 0.5 };

/** The opacity of the plain fill in place of cells that are too small to be told apart. */
const PLAIN = 0.3;

/** How much of the picture under its rulers they cover. */
const RULER_GROUND = 0.85;

/** Every browser knows the first; each further name would be looked for among the fonts of the machine. */
const FONT = 'system-ui, sans-serif';

/** Squares of so many cells each way are at least a pixel of the screen, where a cell has a size in CSS pixels. */
export function factorFor(cell: number): number {
  let factor = 1;
  while (cell * devicePixelRatio * factor < 1 && factor < 1024) {
    factor *= 2;
  }
  return factor;
}

/** What is drawn on top of the colours. */
export interface Marks {
  /** The rank under the pointer or the keyboard; -1 for none. */
  readonly focus: number;
  readonly peers: readonly number[];
  /** What the legend says of the peers; empty for nothing. */
  readonly named: string;
  /** Whether the peers are looked at alone: all else is dimmed, and links between machines are drawn. */
  readonly isolated: boolean;
  /** Ranks that failed, by the file, by a person or by a smoke job. */
  readonly failed: readonly number[];
  /** Cells that a person is drawing a frame around. */
  readonly frame: Rect | null;
}

/** What of the marks can be seen, for the legend. */
export interface Marked {
  readonly example: Example | null;
  readonly links: boolean;
  readonly named: string;
}

/** A cell that is drawn by itself. */
interface Cell {
  readonly rank: number;
  readonly step: number;
  readonly rect: Rect;
}

/** The cells of every step as one path. */
function outlines(cells: readonly Cell[]): Map<number, Path2D> {
  const paths = new Map<number, Path2D>();
  for (const { step, rect } of cells) {
    const path = paths.get(step) ?? new Path2D();
    paths.set(step, path);
    addRect(path, rect.x, rect.y, rect.width, rect.height, Math.min(6, rect.width * 0.12, rect.height * 0.12));
  }
  return paths;
}

/** Draws one picture in one window. Positions are those of its geometry; the window moves them. */
export class Painter {
  constructor(
    readonly context: CanvasRenderingContext2D,
    readonly theme: Theme,
    readonly window: Window,
    readonly geometry: Geometry,
  ) {}

  /** Draws everything under the marks, in steps that may be spread over frames. */
  *ground(bitmap: RankBitmap): Generator<void> {
    this.#clear();
    this.#move();
    for (const panel of this.geometry.panels) {
      const boxes = [...panel.boxes(this.#view)];
      yield* this.#grounds(boxes);
      if (this.#isDetailed(panel)) {
        yield* this.#cells(panel, bitmap);
      } else {
        yield* this.#bitmap(panel, bitmap);
        yield* this.#separators(panel);
      }
      yield* this.#signs(panel, bitmap);
      yield* this.#changes(panel, bitmap);
      yield* this.#labels(boxes);
    }
  }

  /** Draws a sheet at its present position and magnification; the area that it does not cover shows plain cells. */
  place(painted: Painted | null, bitmap: RankBitmap): void {
    const { context } = this;
    const { width, height, originX, originY, scale } = this.window;
    const from = painted?.window ?? { width: 0, height: 0, originX, originY, scale };
    const grown = scale / from.scale;
    // moved by whole pixels, texts stay sharp
    const pixels = (length: number) => Math.round(length * devicePixelRatio) / devicePixelRatio;
    const [x, y] = [pixels(originX - from.originX * grown), pixels(originY - from.originY * grown)];
    const [wide, high] = [pixels(from.width * grown), pixels(from.height * grown)];
    this.#clear();
    if (x > 0 || y > 0 || x + wide < width || y + high < height) {
      this.#move();
      for (const panel of this.geometry.panels) {
        advance(this.#bitmap(panel, bitmap), Number.POSITIVE_INFINITY);
      }
      this.#still();
      context.clearRect(x, y, wide, high);
    }
    if (painted) {
      context.imageSmoothingEnabled = grown !== 1;
      context.drawImage(painted.image, x, y, wide, high);
    }
  }

  #clear(): void {
    const { context, window } = this;
    this.#still();
    context.clearRect(0, 0, window.width, window.height);
  }

  /** Draws in pixels of the window. */
  #still(): void {
    this.context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  }

  /** Draws in pixels of the picture. */
  #move(): void {
    const { originX, originY } = this.window;
    const pixels = (length: number) => Math.round(length * devicePixelRatio);
    this.context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, pixels(originX), pixels(originY));
  }

  /** The part of the picture that is in the window, in pixels of the picture. */
  get #view(): Rect {
    const { originX, originY, width, height } = this.window;
    return { x: -originX, y: -originY, width, height };
  }

  #isDetailed({ cellWidth, cellHeight }: PanelGeometry): boolean {
    return isLarge({ width: cellWidth, height: cellHeight });
  }

  *#bitmap(panelGeometry: PanelGeometry, bitmap: RankBitmap): Generator<void> {
    const { panel, cellWidth, cellHeight } = panelGeometry;
    const { context } = this;
    const cell = Math.min(cellWidth, cellHeight);
    if (isPlain(bitmap.picture.colouring, cell) && !bitmap.picture.stands) {
      context.globalAlpha = PLAIN;
      this.#cover(panelGeometry, this.theme.text);
      context.globalAlpha = 1;
      return;
    }
    const { image, factor } = bitmap.at(factorFor(cell));
    context.imageSmoothingEnabled = false;
    const { across, down } = this.#runs(panelGeometry);
    for (const { first, count, start, length } of down) {
      for (const run of across) {
        const [x, y] = [(panel.x + run.first) / factor, (panel.y + first) / factor];
        context.drawImage(image, x, y, run.count / factor, count / factor, run.start, start, run.length, length);
      }
      yield;
    }
  }

  /** The runs of columns and of rows of a panel that are in view, without what is between blocks. */
  #runs({ columns, rows, cellWidth, cellHeight }: PanelGeometry): { across: Run[]; down: Run[] } {
    const { x, y, width, height } = this.#view;
    return { across: runsOf(columns, cellWidth, x, x + width), down: runsOf(rows, cellHeight, y, y + height) };
  }

  /** Fills the cells of a panel that are in view. */
  #cover(panel: PanelGeometry, fill: string): void {
    this.context.fillStyle = fill;
    for (const { x, y, width, height } of panel.areas(this.#view)) {
      this.context.fillRect(x, y, width, height);
    }
  }

  /** Lines between cells and between blocks that have no room for labels: drawn over them, which is fastest. */
  *#separators(panel: PanelGeometry): Generator<void> {
    const { cellWidth, cellHeight, columns, rows } = panel;
    const cell = Math.min(cellWidth, cellHeight);
    for (const { xs, ys, stepX, stepY } of panel.closed(cell)) {
      yield* this.#lines(panel, xs, ys, Math.min(3, Math.max(1, Math.min(stepX, stepY) * 0.1)));
    }
    if (cell >= CELL_LINES) {
      yield* this.#lines(panel, columns, rows, Math.min(2, cell * 0.1));
    }
  }

  *#lines(panel: PanelGeometry, xs: Float64Array, ys: Float64Array, line: number): Generator<void> {
    const { context } = this;
    const view = this.#view;
    const { across, down } = this.#runs(panel);
    context.fillStyle = this.theme.ground;
    const [right, bottom] = [firstBeyond(xs, view.x + view.width), firstBeyond(ys, view.y + view.height)];
    for (const { start, length } of down) {
      for (let i = firstBeyond(xs, view.x); i < right; i++) {
        context.fillRect((xs[i] ?? 0) - line / 2, start, line, length);
      }
      yield;
    }
    for (const { start, length } of across) {
      for (let j = firstBeyond(ys, view.y); j < bottom; j++) {
        context.fillRect(start, (ys[j] ?? 0) - line / 2, length, line);
      }
      yield;
    }
  }

  /** Cells one by one, of a row all of one colour in one go: only those in view. */
  *#cells(panel: PanelGeometry, bitmap: RankBitmap): Generator<void> {
    for (const cells of this.#cellRows(panel, bitmap)) {
      this.#fill(cells, bitmap);
      yield;
      for (const { rank, step, rect } of cells) {
        // a number on a faded cell could hardly be read
        if (rank >= 0 && (step < FADE || step === MAX_STEPS)) {
          this.#label(rank, step, rect, bitmap.picture);
          yield;
        }
      }
    }
  }

  #fill(cells: readonly Cell[], bitmap: RankBitmap): void {
    const { context, theme } = this;
    context.lineWidth = 1;
    for (const [step, path] of outlines(cells)) {
      if (step === MAX_STEPS) {
        // a rank in no module, or a place that packed placement does not launch
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
  }

  /** The cells in view, row by row. */
  *#cellRows(panel: PanelGeometry, { steps, picture: { placement } }: RankBitmap): Generator<Cell[]> {
    const { columns, rows, cellWidth, cellHeight } = panel;
    const { x, y } = panel.panel;
    const { left, right, top, bottom } = this.#cellsInView(panel);
    for (let row = top; row < bottom; row++) {
      const cells: Cell[] = [];
      for (let column = left; column < right; column++) {
        if (placement.placeAt(x + column, y + row) >= 0) {
          const rect = inner({ x: columns[column] ?? 0, y: rows[row] ?? 0, width: cellWidth, height: cellHeight });
          const step = steps[(y + row) * placement.width + x + column] ?? MAX_STEPS;
          cells.push({ rank: placement.rankAt(x + column, y + row), step, rect });
        }
      }
      yield cells;
    }
  }

  #inkOf(rank: number, step: number, { colouring }: Picture): string {
    const value = colouring.valueOf(rank);
    return step >= FADE || value < 0 ? this.theme.muted : inkOn(colourOf(value, colouring, themeKind()));
  }

  #label(rank: number, step: number, { x, y, width, height }: Rect, picture: Picture): void {
    const { context } = this;
    context.fillStyle = this.#inkOf(rank, step, picture);
    context.textAlign = 'center';
    const centre = x + width / 2;
    const number = String(rank);
    if (width < CELL_COORDINATES.width || height < CELL_COORDINATES.height) {
      const size = Math.min(14, height * 0.62, (width - 4) / (0.6 * number.length));
      if (size >= SMALLEST_TEXT) {
        context.font = `600 ${size}px ${FONT}`;
        context.textBaseline = 'middle';
        context.fillText(number, centre, y + height / 2 + 0.5, width - 4);
      }
      return;
    }
    const big = Math.min(22, Math.max(12, height * 0.24), (width - 8) / (0.6 * number.length));
    const small = Math.max(9, Math.min(12.5, height * 0.15, width * 0.15));
    const line = small * 1.3;
    // texts that would be too small to read are left out
    const lines = picture
      .describe(rank)
      .filter((text) => width - 5 >= SMALLEST_TEXT * CHARACTER * text.length)
      .slice(0, Math.max(0, Math.floor((height - big * 1.4) / line)));
    context.textBaseline = 'alphabetic';
    let baseline = y + (height - big - lines.length * line) / 2 + big * 0.86;
    context.font = `600 ${big}px ${FONT}`;
    context.fillText(number, centre, baseline, width - 6);
    baseline += small * 0.2;
    const size = Math.min(small, ...lines.map((text) => (width - 5) / (CHARACTER * text.length)));
    context.font = `400 ${size}px ${FONT}`;
    for (const text of lines) {
      baseline += line;
      context.fillText(text, centre, baseline, width - 4);
    }
  }

  /** What tells conditions apart without colour. */
  *#signs(panel: PanelGeometry, { picture, steps, palette }: RankBitmap): Generator<void> {
    const { placement, colouring } = picture;
    const { cellWidth, cellHeight, columns, rows } = panel;
    const cell = Math.min(cellWidth, cellHeight);
    const small = !this.#isDetailed(panel);
    // the number in a large cell tells groups apart
    const isNeeded = colouring.statuses !== undefined || small;
    if (!isNeeded || cell < CELL_SIGN || palette.signs.every((sign) => sign === 'none')) {
      return;
    }
    const paths = new Map<Sign, Path2D>();
    yield* this.#eachCell(panel, (column, row) => {
      const at = (panel.panel.y + row) * placement.width + panel.panel.x + column;
      const sign = palette.signs[(steps[at] ?? MAX_STEPS) & ~FADE] ?? 'none';
      if (sign !== 'none') {
        const path = paths.get(sign) ?? new Path2D();
        paths.set(sign, path);
        const shift = small ? (cellWidth - cell) / 2 : 0;
        addSign(path, sign, (columns[column] ?? 0) + shift, rows[row] ?? 0, cell, small);
      }
    });
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
  *#changes(panel: PanelGeometry, { picture: { placement, difference } }: RankBitmap): Generator<void> {
    const { context, theme } = this;
    const { cellWidth, cellHeight, columns, rows } = panel;
    const cell = Math.min(cellWidth, cellHeight);
    if (!difference || cell < CELL_SIGN) {
      return;
    }
    const size = Math.min(14, cell * (this.#isDetailed(panel) ? 0.24 : 0.4));
    const inset = cell * 0.05;
    const [filled, open] = [new Path2D(), new Path2D()];
    yield* this.#eachCell(panel, (column, row) => {
      const rank = placement.rankAt(panel.panel.x + column, panel.panel.y + row);
      const change = rank < 0 ? 'same' : difference.changeOf(rank);
      if (change !== 'same') {
        const path = change === 'peers' ? open : filled;
        const x = (columns[column] ?? 0) + cellWidth - inset;
        const y = (rows[row] ?? 0) + inset;
        path.moveTo(x - size, y);
        path.lineTo(x, y);
        path.lineTo(x, y + size);
        path.closePath();
      }
    });
    context.fillStyle = theme.text;
    context.fill(filled);
    context.fillStyle = theme.ground;
    context.fill(open);
    context.strokeStyle = theme.ground;
    context.lineWidth = 1;
    context.stroke(filled);
    context.strokeStyle = theme.text;
    context.stroke(open);
  }

  /** The columns and rows of a panel that are in view: those before `right` and `bottom`. */
  #cellsInView({ columns, rows, cellWidth, cellHeight }: PanelGeometry) {
    const { x, y, width, height } = this.#view;
    const [left, right] = [firstBeyond(columns, x - cellWidth), firstBeyond(columns, x + width)];
    return { left, right, top: firstBeyond(rows, y - cellHeight), bottom: firstBeyond(rows, y + height) };
  }

  *#eachCell(panel: PanelGeometry, visit: (column: number, row: number) => void): Generator<void> {
    const { left, right, top, bottom } = this.#cellsInView(panel);
    for (let row = top; row < bottom; row++) {
      for (let column = left; column < right; column++) {
        visit(column, row);
      }
      yield;
    }
  }

  /** Boxes with their grounds, under the cells. */
  *#grounds(boxes: readonly Block[]): Generator<void> {
    const { context, theme } = this;
    context.lineWidth = 1;
    context.fillStyle = theme.boxFill;
    context.strokeStyle = theme.box;
    for (const { x, y, width, height, header } of boxes) {
      const path = new Path2D();
      addRect(path, x, y, width, height, header > TITLE_SIZE ? 5 : 0);
      context.fill(path);
      context.stroke(path);
      yield;
    }
  }

  /** The names of boxes, beside the cells. */
  *#labels(boxes: readonly Block[]): Generator<void> {
    const { context, theme } = this;
    const view = this.#view;
    context.textBaseline = 'middle';
    for (const block of boxes) {
      const left = Math.max(block.x, view.x) + 7;
      const right = Math.min(block.x + block.width, view.x + view.width) - 7;
      const { title, detail } = blockText(block, right - left);
      const y = block.y + block.header / 2 + 1.5;
      if (title !== '') {
        context.textAlign = 'left';
        context.font = `600 ${TITLE_SIZE}px ${FONT}`;
        context.fillStyle = theme.text;
        context.fillText(title, left, y);
      }
      if (detail !== '') {
        context.textAlign = 'right';
        context.font = `400 ${TITLE_SIZE - 1}px ${FONT}`;
        context.fillStyle = theme.muted;
        context.fillText(detail, right, y);
      }
      yield;
    }
  }

  /** What is drawn on top. */
  marks(bitmap: RankBitmap, marks: Marks): Marked {
    const { context, theme, geometry } = this;
    const { focus, failed, frame } = marks;
    const { colouring } = bitmap.picture;
    const { cell } = geometry;
    const example =
      focus < 0 && marks.peers.length === 0
        ? shownExample(
            bitmap.picture.example,
            colouring,
            cell,
            geometry.panels.some((panel) => this.#isDetailed(panel)),
          )
        : null;
    const peers = example?.ranks ?? marks.peers;
    const isolated = example !== null || (marks.isolated && peers.length > 0);
    this.#move();
    const line = cell < SMALLEST_MARK ? 2 : Math.max(1.5, Math.min(3, cell * 0.035));
    // rings around many small cells would hide them
    const isDense = isolated && peers.length > MAX_RINGS && cell < SMALL_CELL;
    const links = isolated && this.#isolate(bitmap, peers);
    const ring = isolated && ringOf(geometry, peers);
    if (ring) {
      const path = new Path2D();
      path.arc(ring.x, ring.y, ring.radius, 0, 2 * Math.PI);
      this.#strokeTwice(path, theme.text, 1.5);
    }
    if (!isDense) {
      this.#strokeTwice(this.#rings(peers), theme.text, line);
    }
    const crosses = new Path2D();
    for (const rank of failed.slice(0, MAX_MARKS)) {
      if (!isCrossed(colouring, rank)) {
        this.#addCross(crosses, rank);
      }
    }
    this.#strokeTwice(this.#rings(failed), theme.error, Math.max(1.5, line));
    this.#strokeTwice(crosses, theme.error, Math.max(1.5, Math.min(3, cell * 0.05)));
    if (focus >= 0) {
      this.#strokeTwice(this.#rings([focus]), theme.text, Math.max(2.5, Math.min(4, cell * 0.06)));
    }
    if (frame) {
      const [a, b] = [
        this.geometry.rectOf(frame.x, frame.y),
        this.geometry.rectOf(frame.x + frame.width - 1, frame.y + frame.height - 1),
      ];
      if (a && b) {
        context.setLineDash([5, 4]);
        context.strokeStyle = theme.focus;
        context.lineWidth = 2;
        context.strokeRect(a.x, a.y, b.x + b.width - a.x, b.y + b.height - a.y);
        context.setLineDash([]);
      }
    }
    this.#still();
    return { example, links, named: marks.named };
  }

  /** Numbers at the left and the upper edge of the window, which stay in sight while the picture moves. */
  rulers({ rows, columns }: Rulers): void {
    const { context, theme, window } = this;
    const { width, height, originX, originY } = window;
    this.#still();
    context.globalAlpha = RULER_GROUND;
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, width, RULER.strip);
    context.fillRect(0, RULER.strip, RULER.strip, height);
    context.globalAlpha = 1;
    context.fillStyle = theme.muted;
    context.font = `400 ${RULER.text}px ${FONT}`;
    context.textBaseline = 'middle';
    const middle = RULER.strip / 2 + 0.5;
    context.textAlign = 'left';
    for (const { at, words } of columns) {
      if (originX + at >= 0 && originX + at < width) {
        context.fillRect(originX + at, RULER.strip - 4, 1, 4);
        context.fillText(words, originX + at + 3, middle);
      }
    }
    // upwards, with the end at the row
    context.textAlign = 'right';
    context.rotate(-Math.PI / 2);
    for (const { at, words } of rows) {
      if (originY + at >= RULER.strip && originY + at < height) {
        context.fillRect(-originY - at - 1, RULER.strip - 4, 1, 4);
        context.fillText(words, -originY - at - 3, middle);
      }
    }
    this.#still();
  }

  /** Dims all other ranks and joins those on different nodes by lines; returns whether there are such lines. */
  #isolate(bitmap: RankBitmap, peers: readonly number[]): boolean {
    const { context, theme, geometry } = this;
    const { picture, steps, palette } = bitmap;
    const view = this.#view;
    const isPlainNow = isPlain(picture.colouring, geometry.cell);
    // labels stay: they say where the group is
    for (const panel of geometry.panels) {
      if (this.#isDetailed(panel)) {
        // numbers that would be too faint to be read go
        this.#cover(panel, theme.ground);
        for (const cells of this.#cellRows(panel, bitmap)) {
          this.#fill(cells, bitmap);
        }
      }
      context.globalAlpha = isPlainNow
        ? ISOLATED.plain
        : this.#isDetailed(panel)
          ? ISOLATED.numbered
          : ISOLATED.crowded;
      this.#cover(panel, theme.ground);
    }
    context.globalAlpha = 1;
    const links = linksOf(geometry, peers, picture.layout.gpusPerNode);
    const path = new Path2D();
    for (const { from, to } of links) {
      path.moveTo(from.x, from.y);
      path.lineTo(to.x, to.y);
    }
    this.#strokeTwice(path, theme.warning, 2.5);
    for (const rank of peers.slice(0, MAX_MARKS)) {
      const at = picture.placement.cellOf(rank);
      const rect = at && geometry.rectOf(at.x, at.y);
      if (at && rect && isIn(rect, view)) {
        const step = (steps[at.y * picture.placement.width + at.x] ?? MAX_STEPS) & ~FADE;
        if (isLarge(rect)) {
          const own = inner(rect);
          this.#fill([{ rank, step, rect: own }], bitmap);
          this.#label(rank, step, own, picture);
        } else {
          context.fillStyle = cssColour(palette.words[step] ?? 0);
          const least = peers.length > MAX_ENLARGED ? 2 : SMALLEST_MARK - 1;
          // on whole pixels: small marks between them would lose their colour
          context.fillRect(
            Math.round(rect.x),
            Math.round(rect.y),
            Math.max(least, rect.width),
            Math.max(least, rect.height),
          );
        }
      }
    }
    return links.length > 0;
  }

  /** A line in one colour inside a wider one in the background's: it shows on every fill. */
  #strokeTwice(path: Path2D, colour: string, width: number): void {
    const { context, theme } = this;
    context.strokeStyle = theme.ground;
    context.lineWidth = width * 2.2;
    context.stroke(path);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke(path);
  }

  /** Outlines of cells in view; small ones that fall on each other are drawn once. */
  #rings(ranks: readonly number[]): Path2D {
    const path = new Path2D();
    const drawn = new Set<number>();
    const { x, y, width, height } = this.#view;
    const near = SMALLEST_MARK / 2;
    const view = { x: x - near, y: y - near, width: width + 2 * near, height: height + 2 * near };
    for (const rank of ranks.slice(0, MAX_MARKS)) {
      const cell = this.geometry.rectOfRank(rank);
      if (!cell || !isIn(cell, view)) {
        continue;
      }
      if (cell.width < SMALLEST_MARK || cell.height < SMALLEST_MARK) {
        addSmallRing(path, cell, drawn);
      } else {
        const radius = Math.min(6, Math.min(cell.width, cell.height) * 0.14);
        addRect(path, cell.x + 1, cell.y + 1, cell.width - 2, cell.height - 2, radius);
      }
    }
    return path;
  }

  #addCross(path: Path2D, rank: number): void {
    const rect = this.geometry.rectOfRank(rank);
    const size = rect ? Math.min(rect.width, rect.height) : 0;
    if (rect && size >= CELL_LINES) {
      // a cell with a number keeps it: the cross goes into its corner
      const [x, y, length] = isLarge(rect)
        ? [rect.x + rect.width - size * 0.34, rect.y + size * 0.12, size * 0.22]
        : [rect.x + rect.width / 2 - size / 4, rect.y + rect.height / 2 - size / 4, size / 2];
      addCross(path, x, y, length);
    }
  }
}

/** Adds the outline of a small cell, enlarged and on whole pixels, or it would blur, unless one is already drawn there. */
function addSmallRing(path: Path2D, cell: Rect, drawn: Set<number>): void {
  const width = Math.max(cell.width, SMALLEST_MARK);
  const height = Math.max(cell.height, SMALLEST_MARK);
  const x = Math.round(cell.x - (width - cell.width) / 2);
  const y = Math.round(cell.y - (height - cell.height) / 2);
  const spot = Math.round(x / 3) * 65_536 + Math.round(y / 3);
  if (!drawn.has(spot)) {
    drawn.add(spot);
    path.rect(x + 1, y + 1, width - 2, height - 2);
  }
}

/** Whether a cell is drawn by itself, with its number. */
const isLarge = ({ width, height }: Space): boolean => width >= CELL_DETAIL.width && height >= CELL_DETAIL.height;

/** The part of a large cell that is filled: neighbours do not touch. */
function inner({ x, y, width, height }: Rect): Rect {
  const inset = Math.min(2, Math.min(width, height) * 0.05);
  return { x: x + inset, y: y + inset, width: width - 2 * inset, height: height - 2 * inset };
}

const isIn = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && a.y < b.y + b.height && a.x + a.width > b.x && a.y + a.height > b.y;
