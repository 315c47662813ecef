import { LEAST_HEADER, leastWidth } from './labels';
import { type Panel, type PlacedLevel, type Placement, placeInPanel, type Rect, type Space } from './placement';

/** Blocks have room for their label from this size in pixels on; the room is all there `GROWTH` pixels later. */
const LABEL_HEIGHT = 28;
const LABEL_WIDTH = 30;
const GROWTH = 18;

/** Blocks that have no room for a label are told apart by lines from this size in pixels on. */
export const SMALLEST_TILE = 6;

/** The full height of a label, and the space around and inside a box, in pixels. */
const HEADER = 21;
const GAP = 3;
const PADDING = 5;

/** Cells are no larger than this while all of a picture is shown, in pixels. */
const MAX_CELL = { width: 220, height: 180 };

/** A cell of this size is read well: a larger one is no reason for another arrangement. In pixels. */
const READ_CELL = { width: 150, height: 96 };

/** A cell is at most this many times as wide as it is high, and as high as it is wide. */
const MAX_WIDE = 1.9;
const MAX_HIGH = 1.5;

/** What a labelled box takes of its block on every side, in pixels. */
interface Insets {
  readonly header: number;
  readonly gap: number;
  readonly padding: number;
}

const NONE: Insets = { header: 0, gap: 0, padding: 0 };

/** The room for a box and its label grows with the block, so that nothing jumps while a person zooms. */
function insetsOf({ label, last }: PlacedLevel, width: number, height: number): Insets {
  // where the header is high enough for a label, the block is wide enough for it
  const least = Math.max(LABEL_WIDTH, leastWidth(last?.title ?? '') - (GROWTH * LEAST_HEADER) / HEADER);
  const grown = label
    ? Math.min(1, Math.max(0, (width - least) / GROWTH)) * Math.min(1, Math.max(0, (height - LABEL_HEIGHT) / GROWTH))
    : 0;
  return grown === 0 ? NONE : { header: HEADER * grown, gap: GAP * grown, padding: PADDING * grown };
}

/** How large the blocks of a level are in the block around them, what their boxes take, and what is left inside of each. */
function blockSizes(level: PlacedLevel, around: Space) {
  const [stepX, stepY] = [around.width / level.columns, around.height / level.rows];
  const insets = insetsOf(level, stepX, stepY);
  const { header, gap, padding } = insets;
  const inner = { width: stepX - 2 * (gap + padding), height: stepY - 2 * gap - header - padding };
  return { stepX, stepY, insets, inner };
}

/** One level of a panel where it is drawn, in pixels from the upper left corner of the picture. */
export interface LevelGeometry {
  readonly level: PlacedLevel;
  /** From one block to the next. */
  readonly stepX: number;
  readonly stepY: number;
  readonly insets: Insets;
  /** Where the columns and the rows of blocks begin. */
  readonly xs: Float64Array;
  readonly ys: Float64Array;
}

/** A block where it is drawn: its box without the gap around it, in pixels, and its first place. */
export interface Block extends Rect {
  readonly level: PlacedLevel;
  readonly place: number;
  /** The height of its label; 0 where it has no room for one. */
  readonly header: number;
}

/** One panel where it is drawn. */
export class PanelGeometry {
  readonly levels: readonly LevelGeometry[];
  /** Where the columns and the rows of cells begin, in pixels, and how large a cell is. */
  readonly columns: Float64Array;
  readonly rows: Float64Array;
  readonly cellWidth: number;
  readonly cellHeight: number;

  constructor(
    readonly panel: Panel,
    rect: Rect,
  ) {
    let [xs, ys]: [Float64Array, Float64Array] = [Float64Array.of(rect.x), Float64Array.of(rect.y)];
    let { width, height } = rect;
    this.levels = panel.levels.map((level) => {
      const { stepX, stepY, insets, inner } = blockSizes(level, { width, height });
      const { header, gap, padding } = insets;
      const [outerX, outerY] = [repeated(xs, level.columns, stepX), repeated(ys, level.rows, stepY)];
      ({ width, height } = inner);
      xs = gap + padding > 0 ? outerX.map((x) => x + gap + padding) : outerX;
      ys = gap + header > 0 ? outerY.map((y) => y + gap + header) : outerY;
      return { level, stepX, stepY, insets, xs: outerX, ys: outerY };
    });
    [this.columns, this.rows] = [xs, ys];
    [this.cellWidth, this.cellHeight] = [width, height];
  }

  /** The blocks with room for their label that touch a part of the picture, the outermost first. */
  *boxes(view: Rect): Generator<Block> {
    for (const level of this.levels.filter(({ insets }) => insets.header > 0)) {
      yield* this.blocks(level, view);
    }
  }

  /** The levels whose blocks have no room for a label and are told apart by lines: larger than a cell of `cell` pixels. */
  closed(cell: number): LevelGeometry[] {
    return this.levels.filter(({ level, insets, stepX, stepY }) => {
      const step = Math.min(stepX, stepY);
      return level.label && insets.header === 0 && step >= SMALLEST_TILE && step > cell;
    });
  }

  /** The cells that touch a part of the picture, as areas without a gap. */
  areas({ x, y, width, height }: Rect): Rect[] {
    const across = runsOf(this.columns, this.cellWidth, x, x + width);
    return runsOf(this.rows, this.cellHeight, y, y + height).flatMap((down) =>
      across.map((run) => ({ x: run.start, y: down.start, width: run.length, height: down.length })),
    );
  }

  /** The blocks of a level that touch a part of the picture, row by row. */
  *blocks({ level, stepX, stepY, insets, xs, ys }: LevelGeometry, view: Rect): Generator<Block> {
    const { gap, header } = insets;
    const right = firstBeyond(xs, view.x + view.width);
    const bottom = firstBeyond(ys, view.y + view.height);
    for (let j = Math.max(0, firstBeyond(ys, view.y - stepY)); j < bottom; j++) {
      for (let i = Math.max(0, firstBeyond(xs, view.x - stepX)); i < right; i++) {
        const place = placeInPanel(this.panel, i * level.unitWidth, j * level.unitHeight);
        if (place >= 0) {
          const [x, y] = [(xs[i] ?? 0) + gap, (ys[j] ?? 0) + gap];
          yield { level, place, x, y, width: stepX - 2 * gap, height: stepY - 2 * gap, header };
        }
      }
    }
  }
}

/** Where the cells and boxes of a picture lie when it is drawn `width` x `height` pixels large. */
export class Geometry {
  readonly panels: readonly PanelGeometry[];
  /** The size of the smallest cell of all panels, in pixels. */
  readonly cellWidth: number;
  readonly cellHeight: number;

  constructor(
    readonly placement: Placement,
    readonly width: number,
    readonly height: number,
  ) {
    const [scaleX, scaleY] = [width / placement.width, height / placement.height];
    this.panels = placement.panels.map(
      (panel) =>
        new PanelGeometry(panel, {
          x: panel.x * scaleX,
          y: panel.y * scaleY,
          width: panel.width * scaleX,
          height: panel.height * scaleY,
        }),
    );
    this.cellWidth = Math.min(...this.panels.map((one) => one.cellWidth));
    this.cellHeight = Math.min(...this.panels.map((one) => one.cellHeight));
  }

  /** The whole picture. */
  get all(): Rect {
    return { x: 0, y: 0, width: this.width, height: this.height };
  }

  /** The shorter side of a cell, in pixels. */
  get cell(): number {
    return Math.min(this.cellWidth, this.cellHeight);
  }

  /** The cell at a point in pixels, or null between cells. */
  cellAt(x: number, y: number): { readonly x: number; readonly y: number } | null {
    for (const { panel, columns, rows, cellWidth, cellHeight } of this.panels) {
      const [column, row] = [firstBeyond(columns, x) - 1, firstBeyond(rows, y) - 1];
      if (column >= 0 && row >= 0 && x < (columns[column] ?? 0) + cellWidth && y < (rows[row] ?? 0) + cellHeight) {
        return { x: panel.x + column, y: panel.y + row };
      }
    }
    return null;
  }

  /** The column of cells at a point in pixels, or the one before it. */
  columnNear(x: number): number {
    const panel = this.panels.findLast(({ columns }) => (columns[0] ?? 0) <= x) ?? this.panels[0];
    return panel ? panel.panel.x + Math.max(0, firstBeyond(panel.columns, x) - 1) : 0;
  }

  /** The row of cells at a point in pixels, or the one before it. */
  rowNear(y: number): number {
    const panel = this.panels.findLast(({ rows }) => (rows[0] ?? 0) <= y) ?? this.panels[0];
    return panel ? panel.panel.y + Math.max(0, firstBeyond(panel.rows, y) - 1) : 0;
  }

  /** Where a cell lies, in pixels; null for a cell of no panel. */
  rectOf(column: number, row: number): Rect | null {
    for (const { panel, columns, rows, cellWidth, cellHeight } of this.panels) {
      const [i, j] = [column - panel.x, row - panel.y];
      if (i >= 0 && j >= 0 && i < panel.width && j < panel.height) {
        return { x: columns[i] ?? 0, y: rows[j] ?? 0, width: cellWidth, height: cellHeight };
      }
    }
    return null;
  }

  /** Where a rank lies, in pixels; null where the picture does not hold it. */
  rectOfRank(rank: number): Rect | null {
    const at = this.placement.cellOf(rank);
    return at && this.rectOf(at.x, at.y);
  }

  /** The middle of a rank's cell, in pixels; null where the picture does not hold it. */
  centreOf(rank: number): { readonly x: number; readonly y: number } | null {
    const rect = this.rectOfRank(rank);
    return rect && { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 };
  }

  /** The innermost labelled block at a point in pixels; null outside of all. */
  blockAt(x: number, y: number): Block | null {
    let found: Block | null = null;
    for (const panel of this.panels) {
      for (const block of panel.boxes({ x, y, width: 0.01, height: 0.01 })) {
        found = x >= block.x && x < block.x + block.width && y >= block.y && y < block.y + block.height ? block : found;
      }
    }
    return found;
  }
}

/** The size at which all of a picture is shown in a space: as large as fits, with cells neither too long nor too high. */
export function fittingSize(placement: Placement, space: Space): Space {
  let { width, height } = space;
  for (let round = 0; round < 4; round++) {
    const { cellWidth, cellHeight } = new Geometry(placement, width, height);
    const wide = Math.min(MAX_CELL.width, MAX_WIDE * Math.max(cellHeight, 0.01));
    const high = Math.min(MAX_CELL.height, MAX_HIGH * Math.max(cellWidth, 0.01));
    if (cellWidth <= wide && cellHeight <= high) {
      break;
    }
    width -= Math.max(0, cellWidth - wide) * placement.width;
    height -= Math.max(0, cellHeight - high) * placement.height;
  }
  return { width: Math.max(1, width), height: Math.max(1, height) };
}

/** Blocks whose sides differ more than this many times read badly. */
const MAX_LONG = 3.2;
const MAX_TALL = 1.4;

/** By how much each level whose blocks have room for their label raises the score of a picture. */
const LABELLED = 2.6;

/** How well nested levels can be read in a space: the larger, the better; below 0 where cells have no size left. */
export function legibility(levels: readonly PlacedLevel[], space: Space): number {
  let cell = space;
  let score = 1;
  for (const level of levels) {
    const { stepX, stepY, insets, inner } = blockSizes(level, cell);
    if (level.label) {
      const ratio = Math.max(stepX / stepY / MAX_LONG, stepY / stepX / MAX_TALL, 1);
      score *= (insets.header / HEADER) * (LABELLED - 1) + 1;
      score /= Math.sqrt(ratio);
    }
    cell = inner;
  }
  const { width, height } = cell;
  if (width <= 0 || height <= 0) {
    return Math.min(width, height) - 1;
  }
  const long = Math.min(width, MAX_WIDE * height) * Math.min(height, MAX_HIGH * width);
  // beyond the largest cell more space gains little
  const most = READ_CELL.width * READ_CELL.height;
  return score * (Math.min(long, most) + 0.05 * Math.max(0, long - most));
}

/** The index of the first number beyond a value in an ascending list. */
export function firstBeyond(ascending: Float64Array, value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) <= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** A run of columns or rows of cells without a gap: its cells, and where it lies in pixels. */
export interface Run {
  readonly first: number;
  readonly count: number;
  readonly start: number;
  readonly length: number;
}

/** The runs of cells between two points: all of them, where these are left out. */
export function runsOf(
  starts: Float64Array,
  size: number,
  from = Number.NEGATIVE_INFINITY,
  to = Number.POSITIVE_INFINITY,
): Run[] {
  const runs: Run[] = [];
  const end = firstBeyond(starts, to);
  let first = Math.max(0, firstBeyond(starts, from - size));
  for (let i = first; i < end; i++) {
    const next = starts[i + 1];
    if (i + 1 === end || next === undefined || next - (starts[i] ?? 0) > size + 0.01) {
      runs.push({ first, count: i + 1 - first, start: starts[first] ?? 0, length: (i + 1 - first) * size });
      first = i + 1;
    }
  }
  return runs;
}

/** Every start, and `count - 1` more after each, `step` apart. */
function repeated(starts: Float64Array, count: number, step: number): Float64Array {
  if (count === 1) {
    return starts;
  }
  const all = new Float64Array(starts.length * count);
  let at = 0;
  for (const start of starts) {
    for (let i = 0; i < count; i++) {
      all[at++] = start + i * step;
    }
  }
  return all;
}
