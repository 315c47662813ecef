import type { Geometry } from '../../picture/geometry';
import type { Rect } from '../../picture/placement';
import { context2d, type RankBitmap } from './bitmap';
import type { RankCanvas } from './canvas';
import { factorFor } from './paint';

/** The largest size of the overview, in pixels. */
const MAX_SIZE = { width: 168, height: 112 };

/** How soon the overview follows a movement, in milliseconds: texts that change in every frame would hold it up. */
const FOLLOW = 90;

/** The overview is shown from this magnification on. */
const ZOOMED = 1.05;

/** The whole picture, small, with a frame around the part that is shown, and the names of the blocks there. */
export class Minimap {
  readonly element = document.createElement('div');
  readonly #canvas = document.createElement('canvas');
  readonly #caption = document.createElement('div');
  /** The picture without the frame. */
  readonly #picture = document.createElement('canvas');
  #shown: RankBitmap | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.element.className = 'minimap';
    this.element.hidden = true;
    this.element.setAttribute('aria-hidden', 'true');
    this.element.append(this.#canvas, this.#caption);
  }

  /** Follows a canvas that has just drawn a frame, a moment later. */
  follow(canvas: RankCanvas): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#show(canvas);
    }, FOLLOW);
  }

  #show(canvas: RankCanvas): void {
    const { shown, view } = canvas;
    const isZoomed = view !== null && view.window.scale > ZOOMED;
    this.element.hidden = !isZoomed;
    if (!shown || !isZoomed) {
      this.#shown = null;
      return;
    }
    if (this.#shown !== shown) {
      this.#shown = shown;
      this.#redraw(shown, canvas.fittingSpace);
    }
    const { window, geometry } = view;
    this.#frame(geometry, {
      x: -window.originX,
      y: -window.originY,
      width: window.width,
      height: window.height,
    });
    const text = namesAt(geometry, window.width / 2 - window.originX, window.height / 2 - window.originY);
    if (this.#caption.textContent !== text) {
      this.#caption.textContent = text;
    }
  }

  #redraw(bitmap: RankBitmap, { width, height }: { width: number; height: number }): void {
    const share = Math.min(MAX_SIZE.width / width, MAX_SIZE.height / height);
    const [wide, high] = [Math.max(24, Math.round(width * share)), Math.max(24, Math.round(height * share))];
    for (const canvas of [this.#canvas, this.#picture]) {
      canvas.width = wide * devicePixelRatio;
      canvas.height = high * devicePixelRatio;
    }
    this.#canvas.style.width = `${wide}px`;
    this.#canvas.style.height = `${high}px`;
    const context = context2d(this.#picture);
    const { image } = bitmap.at(factorFor(wide / bitmap.picture.placement.width));
    context.imageSmoothingEnabled = image.width > this.#picture.width;
    context.drawImage(image, 0, 0, this.#picture.width, this.#picture.height);
  }

  #frame(whole: Geometry, view: Rect): void {
    const context = context2d(this.#canvas);
    const { width, height } = this.#canvas;
    context.clearRect(0, 0, width, height);
    context.drawImage(this.#picture, 0, 0);
    const x = (Math.max(0, view.x) / whole.width) * width;
    const y = (Math.max(0, view.y) / whole.height) * height;
    const right = (Math.min(whole.width, view.x + view.width) / whole.width) * width;
    const bottom = (Math.min(whole.height, view.y + view.height) / whole.height) * height;
    const line = 1.5 * devicePixelRatio;
    for (const [colour, size] of [
      ['#000000', 2.4 * line],
      ['#ffffff', line],
    ] as const) {
      context.strokeStyle = colour;
      context.lineWidth = size;
      context.strokeRect(x + line, y + line, Math.max(4, right - x - 2 * line), Math.max(4, bottom - y - 2 * line));
    }
  }
}

/** The names of the blocks around a point, the outermost first: `stage 6 › node 812`. */
function namesAt(geometry: Geometry, x: number, y: number): string {
  return geometry.panels
    .flatMap((panel) =>
      panel.levels.flatMap((level) =>
        [...panel.blocks(level, { x, y, width: 0.01, height: 0.01 })]
          .slice(0, 1)
          .map(({ level: { label }, place }) => label?.(place).title ?? ''),
      ),
    )
    .filter(Boolean)
    .join(' › ');
}
