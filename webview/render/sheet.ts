import { context2d } from './bitmap';
import { advance } from './slices';

/** How long a frame may spend on painting a sheet, in milliseconds: while a person moves, and while nothing else changes. */
const MOVING = 0.5;
const RESTING = 0.8;

/** After so long at a time, the browser is made to do what it was told. */
const STEP = 0.1;

/** What is painted is looked at before it is shown. */
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

interface Next extends Painted {
  readonly work: Iterator<void>;
}

/** Paints a part of a picture; stops now and then. */
export type Paint = (context: CanvasRenderingContext2D, window: Window) => Iterator<void>;

/**
 * A picture with many texts and lines, painted aside. While a person moves, each frame paints on for a moment, and shows what
 * was finished last, moved along; once it rests, the same picture is shown as often as marks on it change.
 */
export class Sheet {
  #shown: Painted | null = null;
  #next: Next | null = null;
  #asked: Window | null = null;
  /** One for what is shown, one for what is painted next. */
  readonly #images = [document.createElement('canvas'), document.createElement('canvas')] as const;
  #isOld = false;
  #isWhole = true;

  constructor(readonly paint: Paint) {}

  /** Forgets what was painted: the picture is another one now, which will be painted in one go. */
  discard(): void {
    this.leave();
    this.#isWhole = true;
  }

  /** Forgets what was painted: there is little to draw now, and what comes next is painted bit by bit. */
  leave(): void {
    this.#shown = null;
    this.#next = null;
    this.#isWhole = false;
  }

  /** Shows what was painted until it is painted anew. */
  renew(): void {
    this.#next = null;
    this.#isOld = true;
  }

  /**
   * Paints on.
   * @param beside how many sheets are painted in the same frame, this one among them
   * @returns what is finished, if anything is, and whether it is the part that was asked for
   */
  at(window: Window, beside: number): { readonly painted: Painted | null; readonly done: boolean } {
    if (this.#shown && !this.#isOld && isSameWindow(this.#shown.window, window)) {
      return { painted: this.#shown, done: true };
    }
    const rests = this.#asked !== null && isSameWindow(this.#asked, window);
    this.#asked = window;
    if (!this.#next || (rests && !isSameWindow(this.#next.window, window))) {
      this.#next = this.#begin(window);
    }
    const { image, window: part } = this.#next;
    if (this.#advance(this.#next, (rests ? RESTING : MOVING) / beside)) {
      this.#shown = { image, window: part };
      this.#next = null;
      this.#isOld = false;
      this.#isWhole = false;
    }
    return { painted: this.#shown, done: this.#next === null && isSameWindow(part, window) };
  }

  #advance({ image, work }: Next, time: number): boolean {
    if (this.#isWhole) {
      return advance(work, Number.POSITIVE_INFINITY);
    }
    const context = context2d(image, ASIDE);
    const end = performance.now() + time;
    let done = false;
    do {
      done = advance(work, STEP);
      // otherwise the browser would put all off to the frame in which the image is shown
      context.getImageData(0, 0, 1, 1);
    } while (!done && performance.now() < end);
    return done;
  }

  #begin(window: Window): Next {
    const [one, other] = this.#images;
    const image = this.#shown?.image === one ? other : one;
    resized(image, window);
    return { image, window, work: this.paint(context2d(image, ASIDE), window) };
  }

  /** Whether there is room for what will be painted. */
  isReady(window: Window): boolean {
    return this.#images.every((image) => hasSize(image, window));
  }

  /** Has the browser make room for what will be painted, which takes it longer than a frame has. */
  *prepare(window: Window): Generator<void> {
    for (const image of this.#images) {
      if (image !== this.#shown?.image && image !== this.#next?.image && resized(image, window)) {
        const context = context2d(image, ASIDE);
        context.clearRect(0, 0, image.width, image.height);
        context.getImageData(0, 0, 1, 1);
        yield;
      }
    }
  }
}

/** The size of a window in pixels of the screen. */
const pixelsOf = ({ width, height }: Window): { width: number; height: number } => ({
  width: Math.round(width * devicePixelRatio),
  height: Math.round(height * devicePixelRatio),
});

function hasSize(image: HTMLCanvasElement, window: Window): boolean {
  const { width, height } = pixelsOf(window);
  return image.width === width && image.height === height;
}

/** Gives an image the size of a window; tells whether it had another one. */
function resized(image: HTMLCanvasElement, window: Window): boolean {
  if (hasSize(image, window)) {
    return false;
  }
  Object.assign(image, pixelsOf(window));
  return true;
}
