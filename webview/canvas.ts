import { select } from 'd3-selection';
import { type ZoomTransform, zoom, zoomIdentity } from 'd3-zoom';
import { type Colouring, colourOf, palette } from './colour';
import type { Placement } from './placement';

/** From this cell size in pixels on, cells are drawn one by one with outlines; below, as a scaled bitmap. */
const CELL_DETAIL = 14;

/** From this cell size on, ranks carry their number; from the larger one on, their coordinates too. */
const CELL_NUMBER = 22;
const CELL_COORDINATES = 50;

/** Cells grow no larger than this when the whole picture is shown. */
const MAX_CELL = 150;

/** How many peers are outlined one by one. */
const MAX_OUTLINES = 4096;

/** Space around the picture in pixels: enough for the label of the topmost box. */
const PADDING = 32;

/** What is drawn on top of the colours. */
export interface Marks {
  /** The rank under the pointer or the keyboard; -1 for none. */
  readonly focus: number;
  readonly peers: readonly number[];
  /** Ranks that a smoke job found at fault. */
  readonly suspects: readonly number[];
  /** Ranks `[start, end)` of the module that the cursor is in. */
  readonly highlight: readonly [number, number] | null;
}

/** What a picture shows. */
export interface Picture {
  readonly placement: Placement;
  readonly colouring: Colouring;
  /** The lines that a large cell carries under its number. */
  readonly describe: (rank: number) => readonly string[];
}

/** Draws ranks: one pixel a rank in a bitmap that is drawn scaled, and details only where a cell is large enough. */
export class RankCanvas {
  readonly element = document.createElement('canvas');
  readonly #context = context2d(this.element);
  readonly #bitmap = document.createElement('canvas');
  readonly #zoom = zoom<HTMLCanvasElement, unknown>().on('zoom', ({ transform }: { transform: ZoomTransform }) => {
    this.#transform = transform;
    this.requestDraw();
  });
  #transform: ZoomTransform = zoomIdentity;
  #picture: Picture | null = null;
  #marks: Marks = { focus: -1, peers: [], suspects: [], highlight: null };
  #frame = 0;

  constructor() {
    select(this.element).call(this.#zoom).on('dblclick.zoom', null);
    new ResizeObserver(() => this.#resized()).observe(this.element);
  }

  /** Shows another picture; the part in view is kept while the picture keeps its shape. */
  show(picture: Picture): void {
    const before = this.#picture?.placement;
    this.#picture = picture;
    this.#paintBitmap(picture);
    if (before?.width !== picture.placement.width || before.height !== picture.placement.height) {
      this.fit();
    }
    this.requestDraw();
  }

  /** What is shown, with its bitmap of one pixel a rank; null while there is nothing. */
  get shown(): { readonly picture: Picture; readonly bitmap: HTMLCanvasElement } | null {
    return this.#picture && { picture: this.#picture, bitmap: this.#bitmap };
  }

  mark(marks: Marks): void {
    this.#marks = marks;
    this.requestDraw();
  }

  /** Shows the whole picture. */
  fit(): void {
    const { width, height } = this.#size();
    this.#zoom.extent([
      [0, 0],
      [width, height],
    ]);
    this.#zoom.scaleExtent([1, Math.max(4, 80 / this.#baseCell())]);
    this.#zoom.translateExtent([
      [0, 0],
      [width, height],
    ]);
    select(this.element).call(this.#zoom.transform, zoomIdentity);
  }

  zoomBy(factor: number): void {
    select(this.element).call(this.#zoom.scaleBy, factor);
  }

  /** Moves the view so that a rank is visible. */
  reveal(rank: number): void {
    const cell = this.#picture?.placement.cellOf(rank);
    if (!cell) {
      return;
    }
    const { x, y, size } = this.#cellRect(cell.x, cell.y);
    const { width, height } = this.#size();
    if (x < 0 || y < 0 || x + size > width || y + size > height) {
      const [px, py] = this.#transform.invert([x + size / 2, y + size / 2]);
      select(this.element).call(this.#zoom.translateTo, px, py);
    }
  }

  /** The rank at a point of the element, or -1. */
  rankAt(offsetX: number, offsetY: number): number {
    const placement = this.#picture?.placement;
    if (!placement) {
      return -1;
    }
    const { originX, originY, cell } = this.#geometry();
    return placement.rankAt(Math.floor((offsetX - originX) / cell), Math.floor((offsetY - originY) / cell));
  }

  requestDraw(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #resized(): void {
    const ratio = devicePixelRatio;
    const { width, height } = this.#size();
    this.element.width = Math.round(width * ratio);
    this.element.height = Math.round(height * ratio);
    this.fit();
    this.requestDraw();
  }

  #size(): { width: number; height: number } {
    return { width: this.element.clientWidth || 1, height: this.element.clientHeight || 1 };
  }

  /** The size of a cell when the whole picture is shown, in CSS pixels. */
  #baseCell(): number {
    const { width, height } = this.#size();
    const { placement } = this.#picture ?? {};
    const columns = placement?.width ?? 1;
    const rows = placement?.height ?? 1;
    return Math.min((width - 2 * PADDING) / columns, (height - 2 * PADDING) / rows, MAX_CELL);
  }

  #geometry(): { originX: number; originY: number; cell: number } {
    const base = this.#baseCell();
    const { width } = this.#size();
    const left = (width - base * (this.#picture?.placement.width ?? 1)) / 2;
    const { k, x, y } = this.#transform;
    return { originX: left * k + x, originY: PADDING * k + y, cell: base * k };
  }

  #cellRect(column: number, row: number): { x: number; y: number; size: number } {
    const { originX, originY, cell } = this.#geometry();
    return { x: originX + column * cell, y: originY + row * cell, size: cell };
  }

  #paintBitmap({ placement, colouring }: Picture): void {
    this.#bitmap.width = placement.width;
    this.#bitmap.height = placement.height;
    const context = context2d(this.#bitmap);
    const image = context.createImageData(placement.width, placement.height);
    const words = new Uint32Array(image.data.buffer);
    const { words: colours, step } = palette(colouring);
    placement.forEach((rank, cell) => {
      words[cell] = colours[step(colouring.valueOf(rank))] ?? 0;
    });
    context.putImageData(image, 0, 0);
  }

  #draw(): void {
    const picture = this.#picture;
    const context = this.#context;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { width, height } = this.#size();
    context.clearRect(0, 0, width, height);
    if (!picture) {
      return;
    }
    const { originX, originY, cell } = this.#geometry();
    const theme = new Theme(this.element);
    if (cell < CELL_DETAIL) {
      context.imageSmoothingEnabled = false;
      context.drawImage(
        this.#bitmap,
        originX,
        originY,
        picture.placement.width * cell,
        picture.placement.height * cell,
      );
    } else {
      this.#drawCells(picture, theme, cell);
    }
    this.#drawBoxes(picture, theme, cell);
    this.#drawMarks(picture, theme, cell);
  }

  /** Cells one by one: only those in view. */
  #drawCells({ placement, colouring, describe }: Picture, theme: Theme, cell: number): void {
    const context = this.#context;
    const { originX, originY } = this.#geometry();
    const { width, height } = this.#size();
    const inset = Math.min(3, cell * 0.06);
    const firstColumn = Math.max(0, Math.floor(-originX / cell));
    const lastColumn = Math.min(placement.width, Math.ceil((width - originX) / cell));
    const firstRow = Math.max(0, Math.floor(-originY / cell));
    const lastRow = Math.min(placement.height, Math.ceil((height - originY) / cell));
    for (let row = firstRow; row < lastRow; row++) {
      for (let column = firstColumn; column < lastColumn; column++) {
        const rank = placement.rankAt(column, row);
        if (rank >= 0) {
          const x = originX + column * cell + inset;
          const y = originY + row * cell + inset;
          const size = cell - 2 * inset;
          context.fillStyle = colourOf(colouring.valueOf(rank), colouring);
          context.beginPath();
          context.roundRect(x, y, size, size, Math.min(6, size * 0.12));
          context.fill();
          context.strokeStyle = theme.outline;
          context.lineWidth = 1;
          context.stroke();
          this.#label(rank, describe, x, y, size, cell);
        }
      }
    }
  }

  #label(rank: number, describe: Picture['describe'], x: number, y: number, size: number, cell: number): void {
    if (cell < CELL_NUMBER) {
      return;
    }
    const context = this.#context;
    const fill = String(context.fillStyle);
    context.fillStyle = inkOn(fill);
    context.textAlign = 'center';
    const centre = x + size / 2;
    if (cell < CELL_COORDINATES) {
      context.font = `600 ${Math.min(13, cell * 0.42)}px ${FONT}`;
      context.textBaseline = 'middle';
      context.fillText(String(rank), centre, y + size / 2, size - 4);
      return;
    }
    const lines = describe(rank).slice(0, 3);
    const big = Math.min(26, cell * 0.24);
    const small = Math.max(8, Math.min(14, cell * 0.135));
    context.textBaseline = 'alphabetic';
    const block = big + lines.length * (small + 3);
    let baseline = y + (size - block) / 2 + big * 0.85;
    context.font = `600 ${big}px ${FONT}`;
    context.fillText(String(rank), centre, baseline, size - 8);
    context.font = `400 ${small}px ${FONT}`;
    for (const line of lines) {
      baseline += small + 3;
      context.fillText(line, centre, baseline, size - 8);
    }
  }

  #drawBoxes({ placement }: Picture, theme: Theme, cell: number): void {
    const context = this.#context;
    for (const box of placement.boxes) {
      const { x, y } = this.#cellRect(box.x, box.y);
      const width = box.width * cell;
      const height = box.height * cell;
      if (cell >= 4) {
        context.strokeStyle = theme.border;
        context.lineWidth = 1;
        context.beginPath();
        context.roundRect(x - 2.5, y - 2.5, width + 5, height + 5, 6);
        context.stroke();
      }
      const size = Math.min(13, cell * 0.52);
      if (size >= 8 && box.label !== '') {
        context.fillStyle = theme.muted;
        context.font = `500 ${size}px ${FONT}`;
        context.textAlign = 'left';
        context.textBaseline = 'bottom';
        context.fillText(box.label, x, y - 5, width);
      }
    }
  }

  #drawMarks({ placement }: Picture, theme: Theme, cell: number): void {
    const { focus, peers, suspects, highlight } = this.#marks;
    if (highlight) {
      this.#outlineSpan(placement, highlight, theme, cell);
    }
    for (const rank of peers.slice(0, MAX_OUTLINES)) {
      this.#ring(placement, rank, theme, cell);
    }
    for (const rank of suspects) {
      this.#cross(placement, rank, theme, cell);
    }
    if (focus >= 0) {
      this.#ring(placement, focus, theme, cell);
      this.#outline(placement, focus, theme.foreground, Math.max(3, cell * 0.06), cell);
    }
  }

  /** A line in the text's colour inside one in the background's: it shows on every fill. */
  #ring(placement: Placement, rank: number, theme: Theme, cell: number): void {
    const line = Math.max(1.5, cell * 0.03);
    this.#outline(placement, rank, theme.background, line * 2.5, cell);
    this.#outline(placement, rank, theme.foreground, line, cell);
  }

  #outline(placement: Placement, rank: number, colour: string, line: number, cell: number): void {
    const at = placement.cellOf(rank);
    if (!at) {
      return;
    }
    const { x, y } = this.#cellRect(at.x, at.y);
    const context = this.#context;
    // one rank in a million is still seen
    const size = Math.max(cell, 5);
    const shift = (size - cell) / 2;
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.beginPath();
    context.roundRect(x - shift + 1, y - shift + 1, size - 2, size - 2, Math.min(7, size * 0.14));
    context.stroke();
  }

  #cross(placement: Placement, rank: number, { error: colour, background: halo }: Theme, cell: number): void {
    const at = placement.cellOf(rank);
    if (!at) {
      return;
    }
    this.#outline(placement, rank, colour, Math.max(2.5, cell * 0.05), cell);
    const { x, y } = this.#cellRect(at.x, at.y);
    // a cell with a number keeps it: the cross goes into its corner
    const [from, to] = cell < CELL_NUMBER ? [0.2, 0.8] : [0.1, 0.3];
    const context = this.#context;
    context.beginPath();
    context.moveTo(x + cell * (1 - to), y + cell * from);
    context.lineTo(x + cell * (1 - from), y + cell * to);
    context.moveTo(x + cell * (1 - from), y + cell * from);
    context.lineTo(x + cell * (1 - to), y + cell * to);
    context.strokeStyle = halo;
    context.lineWidth *= 2.4;
    context.stroke();
    context.strokeStyle = colour;
    context.lineWidth /= 2.4;
    context.stroke();
  }

  /** Marks the ranks of the module that the cursor is in. */
  #outlineSpan(placement: Placement, [start, end]: readonly [number, number], theme: Theme, cell: number): void {
    const context = this.#context;
    context.strokeStyle = theme.focus;
    context.lineWidth = 2;
    context.setLineDash([4, 3]);
    if (end - start <= 512) {
      for (let rank = start; rank < end; rank++) {
        const at = placement.cellOf(rank);
        if (at && cell >= 4) {
          const { x, y } = this.#cellRect(at.x, at.y);
          context.strokeRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
        }
      }
    }
    context.setLineDash([]);
  }
}

const FONT = 'system-ui, sans-serif';

function context2d(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext('2d');
  if (!context) {
    throw new Error('this browser cannot draw');
  }
  return context;
}

/** Black or white, whichever reads better on a fill (relative luminance, WCAG 2). */
function inkOn(fill: string): string {
  const [r = 0, g = 0, b = 0] = (fill.match(/[\da-f]{2}/gi) ?? []).map((part) => Number.parseInt(part, 16) / 255);
  const linear = (channel: number) => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.18 ? '#000000' : '#ffffff';
}

/** The editor's colours, read where they are used so that a change of theme shows at once. */
class Theme {
  readonly #style: CSSStyleDeclaration;

  constructor(element: Element) {
    this.#style = getComputedStyle(element);
  }

  get foreground(): string {
    return this.#value('--grid-foreground');
  }

  get background(): string {
    return this.#value('--grid-background');
  }

  get muted(): string {
    return this.#value('--grid-muted');
  }

  get border(): string {
    return this.#value('--grid-box');
  }

  get outline(): string {
    return this.#value('--grid-outline');
  }

  get focus(): string {
    return this.#value('--grid-focus');
  }

  get error(): string {
    return this.#value('--grid-error');
  }

  #value(name: string): string {
    return this.#style.getPropertyValue(name).trim() || '#888888';
  }
}
