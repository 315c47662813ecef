import { context2d } from './bitmap';
import { advance } from './slices';

/** How long a frame may spend on painting a sheet, in milliseconds. */
const SHARE = 0.8;

/** What is painted is looked at before it is shown. */
const ASIDE = { willReadFrequently: true };

/** Which part of a picture is on the screen, and how large: positions in CSS pixels. */
export interface Window {
  readonly width: number;
  readonly height: number;
  readonly originX: number;
  readonly originY: number;
  readonly cell: number;
}

const isSameWindow = (a: Window, b: Window): boolean =>
  a.originX === b.originX &&
  a.originY === b.originY &&
  a.cell === b.cell &&
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
  #spare: HTMLCanvasElement | null = null;
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
    this.#spare = this.#shown?.image ?? this.#next?.image ?? this.#spare;
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
   * @returns what is finished, if anything is, and whether it is the part that was asked for
   */
  at(window: Window): { readonly painted: Painted | null; readonly done: boolean } {
    if (this.#shown && !this.#isOld && isSameWindow(this.#shown.window, window)) {
      return { painted: this.#shown, done: true };
    }
    const rests = this.#asked !== null && isSameWindow(this.#asked, window);
    this.#asked = window;
    if (!this.#next || (rests && !isSameWindow(this.#next.window, window))) {
      this.#next = this.#begin(window);
    }
    const { image, window: part } = this.#next;
    if (this.#advance(this.#next)) {
      this.#spare = this.#shown?.image ?? null;
      this.#shown = { image, window: part };
      this.#next = null;
      this.#isOld = false;
      this.#isWhole = false;
    }
    return { painted: this.#shown, done: this.#next === null && isSameWindow(part, window) };
  }

  #advance({ image, work }: Next): boolean {
    if (this.#isWhole) {
      return advance(work, Number.POSITIVE_INFINITY);
    }
    const context = context2d(image, ASIDE);
    const end = performance.now() + SHARE;
    let done = false;
    do {
      done = advance(work, SHARE / 8);
      // otherwise the browser would put all off to the frame in which the image is shown
      context.getImageData(0, 0, 1, 1);
    } while (!done && performance.now() < end);
    return done;
  }

  #begin(window: Window): Next {
    const image = this.#next?.image ?? this.#spare ?? document.createElement('canvas');
    const width = Math.round(window.width * devicePixelRatio);
    const height = Math.round(window.height * devicePixelRatio);
    if (image.width !== width || image.height !== height) {
      image.width = width;
      image.height = height;
    }
    return { image, window, work: this.paint(context2d(image, ASIDE), window) };
  }
}
