import { context2d } from './bitmap';
import { advance, Background } from './slices';

/** How long a sheet is painted before the browser is made to do what it was told, in milliseconds. */
const STEP = 0.5;

/** Sheets are drawn in software: reading one pixel back ends each step. */
const ASIDE = { willReadFrequently: true };

/** Which part of a picture is on the screen, and how large: positions in CSS pixels. */
export interface Window {
  readonly width: number;
  readonly height: number;
  readonly originX: number;
  readonly originY: number;
  /** The magnification: 1 where all of the picture is shown. */
  readonly scale: number;
}

const isSameWindow = (a: Window, b: Window): boolean =>
  a.originX === b.originX &&
  a.originY === b.originY &&
  a.scale === b.scale &&
  a.width === b.width &&
  a.height === b.height;

/** A part of a picture that was painted aside. */
export interface Painted {
  readonly image: HTMLCanvasElement;
  readonly window: Window;
}

/** Paints a part of a picture; stops now and then. */
export type Paint = (context: CanvasRenderingContext2D, window: Window) => Iterator<void>;

/**
 * A picture with many texts and lines, painted aside between frames. Frames show what was finished last, moved along, until
 * the part that is looked at now is painted.
 */
export class Sheet {
  #shown: Painted | null = null;
  /** One for what is shown, one for what is painted next. */
  readonly #images = [document.createElement('canvas'), document.createElement('canvas')] as const;
  readonly #work = new Background();
  #isOld = false;
  #isWhole = true;

  /** @param finished called when a part has been painted between frames */
  constructor(
    readonly paint: Paint,
    readonly finished: () => void,
  ) {}

  /** Drops the sheet for another picture; the next one is painted at once. */
  discard(): void {
    this.leave();
    this.#isWhole = true;
  }

  /** Drops the sheet; the next one is painted between frames. */
  leave(): void {
    this.#work.stop();
    this.#shown = null;
    this.#isWhole = false;
  }

  /** Repaints the sheet between frames; the old one stays until then. */
  renew(): void {
    this.#work.stop();
    this.#isOld = true;
  }

  /** The last finished sheet, or null. Where it shows another window, painting of this one begins after the current painting. */
  at(window: Window): Painted | null {
    const isReady = this.#shown && !this.#isOld && isSameWindow(this.#shown.window, window);
    if (this.#isWhole || (!isReady && !this.#work.busy)) {
      this.#begin(window);
    }
    return this.#shown;
  }

  #begin(window: Window): void {
    const [one, other] = this.#images;
    const image = this.#shown?.image === one ? other : one;
    image.width = Math.round(window.width * devicePixelRatio);
    image.height = Math.round(window.height * devicePixelRatio);
    const context = context2d(image, ASIDE);
    const work = this.paint(context, window);
    const done = () => {
      this.#shown = { image, window };
      this.#isOld = false;
    };
    if (this.#isWhole) {
      this.#isWhole = false;
      advance(work, Number.POSITIVE_INFINITY);
      done();
      return;
    }
    this.#work.runLater(flushed(context, work), 0, () => {
      done();
      this.finished();
    });
  }
}

/** Work in steps that the browser has done when they end: otherwise it would put all off to the frame that shows the image. */
function* flushed(context: CanvasRenderingContext2D, work: Iterator<void>): Generator<void> {
  while (!advance(work, STEP)) {
    context.getImageData(0, 0, 1, 1);
    yield;
  }
  context.getImageData(0, 0, 1, 1);
}
