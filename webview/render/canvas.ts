import { select } from 'd3-selection';
import { type ZoomTransform, zoom, zoomIdentity } from 'd3-zoom';
import type { Picture } from '../../picture/cells';
import { fittingSize, Geometry } from '../../picture/geometry';
import type { Placement, Rect, Space } from '../../picture/placement';
import { RULER, type Rulers, rulersOf } from '../../picture/rulers';
import { context2d, RankBitmap } from './bitmap';
import { CELL_LINES, factorFor, type Marked, type Marks, Painter } from './paint';
import { Sheet, type Window } from './sheet';
import { advance, Background } from './slices';
import { onResolutionChange, type Theme, themeOf } from './theme';

/** Space around the picture, in pixels: its rulers have room beside it. */
const PADDING = { top: RULER.strip, bottom: 8, side: RULER.strip };

/** How long a picture rests before finer levels of it are painted, in milliseconds. */
const REST = 100;

/** Cells grow up to this size by zooming. */
const MAX_ZOOMED = 96;

/** The part of the picture that is shown: the magnification, and the centre as shares of the picture. */
export interface Viewport {
  readonly zoom: number;
  readonly x: number;
  readonly y: number;
}

/** A point in pixels, or a cell. */
interface Point {
  readonly x: number;
  readonly y: number;
}

/** What a canvas tells its owner. */
export interface CanvasEvents {
  hovered(rank: number): void;
  clicked(rank: number): void;
  /** A person asks for the lines of a rank. */
  opened(rank: number): void;
  /** A person drew a frame around ranks. */
  framed(ranks: readonly number[]): void;
  moved(viewport: Viewport): void;
  resized(): void;
  /** A frame was drawn. */
  drawn(canvas: RankCanvas): void;
}

/** Shows a picture of ranks: draws, zooms, pans, and tells which rank is where. */
export class RankCanvas {
  readonly element = document.createElement('canvas');
  /** Whether dragging draws a frame around ranks, as it does anyway with the Shift key. */
  framing = false;
  /** What of the marks was seen in the last frame. */
  marked: Marked = { example: null, links: false, named: '' };
  readonly #context = context2d(this.element);
  readonly #zoom = zoom<HTMLCanvasElement, unknown>();
  #transform: ZoomTransform = zoomIdentity;
  #shown: RankBitmap | null = null;
  #marks: Marks = { focus: -1, peers: [], named: '', isolated: false, failed: [], frame: null };
  /** How the parts of the picture lie where all of it is shown, in a space of this size, and at the size that is drawn. */
  #fitting: { readonly space: Space; readonly geometry: Geometry } | null = null;
  #geometry: Geometry | null = null;
  #rulers: Rulers | null = null;
  #frame = 0;
  /** The size of the element in CSS pixels when it was last measured. */
  #seen: Space = { width: 0, height: 0 };
  #theme: Theme = themeOf(this.element);
  readonly #sheet = new Sheet(
    (context, window) => this.#ground(context, window),
    () => this.requestDraw(),
  );
  /** The colouring of a picture that is not shown yet, or the painting of levels ahead. */
  readonly #work = new Background();

  constructor(readonly events: CanvasEvents) {
    const { element } = this;
    element.tabIndex = 0;
    element.setAttribute('role', 'application');
    element.setAttribute('aria-roledescription', 'rank grid');
    this.#zoom
      .filter(
        (event: MouseEvent) =>
          event.type === 'wheel' || (!event.ctrlKey && event.button === 0 && !event.shiftKey && !this.framing),
      )
      .on('zoom', ({ transform, sourceEvent }: { transform: ZoomTransform; sourceEvent: unknown }) => {
        this.#transform = transform;
        this.requestDraw();
        if (sourceEvent) {
          this.events.moved(this.viewport);
        }
      });
    select(element).call(this.#zoom).on('dblclick.zoom', null);
    new ResizeObserver(([entry]) => this.#resized(entry?.devicePixelContentBoxSize?.[0])).observe(element);
    onResolutionChange(() => this.#resized(undefined));
    this.#listen();
  }

  /**
   * Shows another picture, as soon as it is coloured: a large one in slices, while the one before stays. A picture that is
   * superseded by then is never shown.
   * @param viewport the part to show, read when the picture is painted
   */
  show(picture: Picture, viewport: () => Viewport): void {
    const bitmap = new RankBitmap(picture);
    const work = bitmap.prepare(factorFor(this.#fittingGeometry(picture.placement).cell));
    const present = () => this.#present(bitmap, viewport());
    if (this.#shown) {
      this.#work.run(work, present);
    } else {
      // the first picture has nothing to stay for it meanwhile
      advance(work, Number.POSITIVE_INFINITY);
      present();
    }
  }

  /** Releases the picture and its memory. */
  forget(): void {
    this.#work.stop();
    this.#sheet.discard();
    this.#shown = null;
    this.#fitting = null;
    this.#geometry = null;
  }

  #present(shown: RankBitmap, viewport: Viewport): void {
    const before = this.#shown?.picture.placement;
    const { placement } = shown.picture;
    this.#shown = shown;
    this.#theme = themeOf(this.element);
    this.#sheet.discard();
    if (before?.width !== placement.width || before.height !== placement.height) {
      this.fit();
    }
    this.viewport = viewport;
    this.requestDraw();
  }

  /** What is shown; null while there is nothing. */
  get shown(): RankBitmap | null {
    return this.#shown;
  }

  mark(marks: Marks): void {
    this.#marks = marks;
    this.requestDraw();
  }

  /** The space that a picture has, now that the element stands where it will stay. */
  measured(): Space {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth !== this.#seen.width || clientHeight !== this.#seen.height) {
      this.#resize(undefined);
    }
    return this.#space();
  }

  /** Shows the whole picture. */
  fit(): void {
    const { width, height } = this.#size();
    const whole: [[number, number], [number, number]] = [
      [0, 0],
      [width, height],
    ];
    this.#zoom.extent(whole).translateExtent(whole);
    const placement = this.#shown?.picture.placement;
    this.#zoom.scaleExtent([1, placement ? Math.max(4, MAX_ZOOMED / this.#fittingGeometry(placement).cell) : 4]);
    select(this.element).call(this.#zoom.transform, zoomIdentity);
  }

  /** @param rank stays in view; -1 for the centre of the window */
  zoomBy(factor: number, rank: number): void {
    const { originX, originY } = this.#window();
    const centre = this.#geometryNow()?.centreOf(rank);
    const point: [number, number] | undefined = centre ? [originX + centre.x, originY + centre.y] : undefined;
    select(this.element).call(this.#zoom.scaleBy, factor, point);
    this.reveal(rank);
    this.events.moved(this.viewport);
  }

  get viewport(): Viewport {
    const { width, height } = this.#size();
    const [x, y] = this.#transform.invert([width / 2, height / 2]);
    return { zoom: this.#transform.k, x: x / width, y: y / height };
  }

  set viewport({ zoom, x, y }: Viewport) {
    const { width, height } = this.#size();
    const element = select(this.element);
    element.call(this.#zoom.scaleTo, zoom);
    element.call(this.#zoom.translateTo, x * width, y * height);
  }

  /** Moves the view so that a rank is visible. */
  reveal(rank: number): void {
    const { originX, originY, width, height } = this.#window();
    const rect = this.#geometryNow()?.rectOfRank(rank);
    if (!rect) {
      return;
    }
    const [x, y] = [originX + rect.x, originY + rect.y];
    if (x < 0 || y < 0 || x + rect.width > width || y + rect.height > height) {
      const [px, py] = this.#transform.invert([x + rect.width / 2, y + rect.height / 2]);
      select(this.element).call(this.#zoom.translateTo, px, py);
      this.events.moved(this.viewport);
    }
  }

  /** Zooms so that a part of the picture fills the window. */
  zoomTo(rect: Rect): void {
    const { originX, originY, width, height } = this.#window();
    const [x, y] = this.#transform.invert([originX + rect.x + rect.width / 2, originY + rect.y + rect.height / 2]);
    const factor = Math.min(width / rect.width, height / rect.height) * 0.96;
    const element = select(this.element);
    element.call(this.#zoom.scaleTo, this.#transform.k * factor);
    element.call(this.#zoom.translateTo, x, y);
    this.events.moved(this.viewport);
  }

  /** The rank at a point of the element, or -1: by arithmetic, whatever the size of the world. */
  rankAt(offsetX: number, offsetY: number): number {
    const { originX, originY } = this.#window();
    const at = this.#geometryNow()?.cellAt(offsetX - originX, offsetY - originY);
    return (at && this.#shown?.picture.placement.rankAt(at.x, at.y)) ?? -1;
  }

  /** Draws in the next frame, unless the element is detached by then. */
  requestDraw(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    if (!this.element.isConnected) {
      return;
    }
    if (!this.#shown) {
      this.#context.clearRect(0, 0, this.element.width, this.element.height);
      return;
    }
    const bitmap = this.#shown;
    const window = this.#window();
    const geometry = this.#geometryOf(window, bitmap.picture.placement);
    const painter = new Painter(this.#context, this.#theme, window, geometry);
    if (geometry.cell < CELL_LINES) {
      this.#sheet.leave();
      advance(painter.ground(bitmap), Number.POSITIVE_INFINITY);
    } else {
      painter.place(this.#sheet.at(window), bitmap);
    }
    this.marked = painter.marks(bitmap, this.#marks);
    if (this.#rulers) {
      painter.rulers(this.#rulers);
    }
    this.events.drawn(this);
    this.#paintAhead(bitmap);
  }

  /** Paints the finer levels while idle, so that zooming in finds them. */
  #paintAhead(bitmap: RankBitmap): void {
    const factor = factorFor(this.#fittingGeometry(bitmap.picture.placement).cell);
    if (!this.#work.busy && !bitmap.hasFrom(factor)) {
      this.#work.runLater(bitmap.paintFrom(factor), REST, () => {
        this.#sheet.renew();
        this.requestDraw();
      });
    }
  }

  *#ground(context: CanvasRenderingContext2D, window: Window): Generator<void> {
    if (this.#shown) {
      const geometry = this.#geometryOf(window, this.#shown.picture.placement);
      yield* new Painter(context, this.#theme, window, geometry).ground(this.#shown);
    }
  }

  #listen(): void {
    const { element } = this;
    let start: Point | null = null;
    let dragged = false;
    element.addEventListener('pointerdown', ({ offsetX, offsetY, button, shiftKey, pointerId }) => {
      dragged = false;
      if (button === 0 && (this.framing || shiftKey)) {
        start = { x: offsetX, y: offsetY };
        element.setPointerCapture(pointerId);
      }
    });
    element.addEventListener('pointermove', ({ offsetX, offsetY }) => {
      if (start) {
        dragged ||= Math.hypot(offsetX - start.x, offsetY - start.y) > 4;
        if (dragged) {
          this.mark({ ...this.#marks, frame: this.#cellsBetween(start, { x: offsetX, y: offsetY }) });
        }
        return;
      }
      this.events.hovered(this.rankAt(offsetX, offsetY));
    });
    const end = () => {
      const { frame } = this.#marks;
      start = null;
      if (frame) {
        this.mark({ ...this.#marks, frame: null });
        this.events.framed(this.#ranksIn(frame));
      }
    };
    element.addEventListener('pointerup', end);
    element.addEventListener('pointercancel', end);
    element.addEventListener('pointerleave', () => start === null && this.events.hovered(-1));
    element.addEventListener('click', ({ offsetX, offsetY }) => {
      if (!dragged) {
        const rank = this.rankAt(offsetX, offsetY);
        const block = rank < 0 ? this.#labelAt(offsetX, offsetY) : null;
        if (block) {
          this.zoomTo(block);
        } else {
          this.events.clicked(rank);
        }
      }
    });
    element.addEventListener('dblclick', ({ offsetX, offsetY }) => {
      const rank = this.rankAt(offsetX, offsetY);
      if (rank >= 0) {
        this.events.opened(rank);
      }
    });
  }

  /** The block whose label is at a point of the element. */
  #labelAt(offsetX: number, offsetY: number): Rect | null {
    const { originX, originY } = this.#window();
    const block = this.#geometryNow()?.blockAt(offsetX - originX, offsetY - originY) ?? null;
    return block && offsetY - originY < block.y + block.header ? block : null;
  }

  /** The cells in a frame that is drawn from one point of the element to another. */
  #cellsBetween(a: Point, b: Point): Rect | null {
    const { originX, originY } = this.#window();
    const geometry = this.#geometryNow();
    if (!geometry) {
      return null;
    }
    const cellNear = ({ x, y }: Point) => ({ x: geometry.columnNear(x - originX), y: geometry.rowNear(y - originY) });
    return spanOf(cellNear(a), cellNear(b));
  }

  /** The ranks in the frame that two ranks span. */
  ranksBetween(one: number, other: number): number[] {
    const placement = this.#shown?.picture.placement;
    const [a, b] = [placement?.cellOf(one), placement?.cellOf(other)];
    return a && b ? this.#ranksIn(spanOf(a, b)) : [];
  }

  #ranksIn({ x, y, width, height }: Rect): number[] {
    const placement = this.#shown?.picture.placement;
    const ranks: number[] = [];
    if (placement) {
      for (let row = Math.max(0, y); row < Math.min(y + height, placement.height); row++) {
        for (let column = Math.max(0, x); column < Math.min(x + width, placement.width); column++) {
          const rank = placement.rankAt(column, row);
          if (rank >= 0) {
            ranks.push(rank);
          }
        }
      }
    }
    return ranks;
  }

  #resized(exact: ResizeObserverSize | undefined): void {
    // hidden, it keeps its size for the time when it is shown again
    if (this.element.clientWidth > 0 && this.#resize(exact)) {
      this.events.resized();
    }
  }

  /**
   * Takes over the size that the element has on the page.
   * @param exact the size in pixels of the screen, where the browser tells: a rounded one would blur the picture
   * @returns whether it is another one
   */
  #resize(exact: ResizeObserverSize | undefined): boolean {
    const { element, viewport } = this;
    const { clientWidth, clientHeight } = element;
    this.#seen = { width: clientWidth, height: clientHeight };
    // an emulated screen tells sizes of the real one
    const near = (pixels: number | undefined, length: number) =>
      pixels !== undefined && Math.abs(pixels - length * devicePixelRatio) <= devicePixelRatio
        ? pixels
        : Math.round(length * devicePixelRatio);
    const [width, height] = [near(exact?.inlineSize, clientWidth), near(exact?.blockSize, clientHeight)];
    if (element.width === width && element.height === height) {
      return false;
    }
    element.width = width;
    element.height = height;
    this.fit();
    this.viewport = viewport;
    this.requestDraw();
    return true;
  }

  #size(): { width: number; height: number } {
    return {
      width: this.element.width / devicePixelRatio || 1,
      height: this.element.height / devicePixelRatio || 1,
    };
  }

  /** The space that a picture has while all of it is shown, in pixels. */
  #space(): Space {
    const { width, height } = this.#size();
    return {
      width: Math.max(1, width - 2 * PADDING.side),
      height: Math.max(1, height - PADDING.top - PADDING.bottom),
    };
  }

  /** The size of the picture while all of it is shown, in pixels. */
  get fittingSpace(): Space {
    return this.#shown ? this.#fittingGeometry(this.#shown.picture.placement) : this.#size();
  }

  #fittingGeometry(placement: Placement): Geometry {
    const space = this.#space();
    const known = this.#fitting;
    if (known?.geometry.placement === placement && isSameSize(known.space, space)) {
      return known.geometry;
    }
    const { width, height } = fittingSize(placement, space);
    const geometry = new Geometry(placement, width, height);
    this.#fitting = { space, geometry };
    return geometry;
  }

  /** How the parts of a picture lie in a window: worked out once for every magnification. */
  #geometryOf({ scale }: Window, placement: Placement): Geometry {
    const fitting = this.#fittingGeometry(placement);
    const size = { width: fitting.width * scale, height: fitting.height * scale };
    const known = this.#geometry;
    if (known?.placement === placement && isSameSize(known, size)) {
      return known;
    }
    this.#geometry = new Geometry(placement, size.width, size.height);
    const { worldSize = 0, gpusPerNode = 1 } = this.#shown?.picture.layout ?? {};
    this.#rulers = rulersOf(this.#geometry, worldSize, gpusPerNode);
    return this.#geometry;
  }

  #geometryNow(): Geometry | null {
    return this.#shown && this.#geometryOf(this.#window(), this.#shown.picture.placement);
  }

  /** How the picture lies in the window now; null while there is none. */
  get view(): { readonly window: Window; readonly geometry: Geometry } | null {
    const geometry = this.#geometryNow();
    return geometry && { window: this.#window(), geometry };
  }

  #window(): Window {
    const { k, x, y } = this.#transform;
    return { ...this.#size(), originX: PADDING.side * k + x, originY: PADDING.top * k + y, scale: k };
  }
}

const isSameSize = (a: Space, b: Space): boolean => a.width === b.width && a.height === b.height;

/** The rectangle of cells that two cells span. */
const spanOf = (a: Point, b: Point): Rect => ({
  x: Math.min(a.x, b.x),
  y: Math.min(a.y, b.y),
  width: Math.abs(a.x - b.x) + 1,
  height: Math.abs(a.y - b.y) + 1,
});
