import { grouped, type ResolvedLayout } from '../../layout';
import { pictureOf } from '../../picture/cells';
import { markedDifference } from '../../picture/difference';
import { isDrawn, MAX_DRAWN, type Sketch } from '../../picture/drawing';
import { type CanvasEvents, RankCanvas, type Viewport } from '../render/canvas';
import { Minimap } from '../render/minimap';
import type { Marks } from '../render/paint';
import type { Scene, View } from '../views/view';
import { h, replaceKeepingFocus } from './dom';

/** What a person does with the pictures. */
export interface StageEvents extends Omit<CanvasEvents, 'drawn'> {
  drawn(): void;
  keyed(event: KeyboardEvent): void;
}

/** How narrow and how wide diagrams are laid out, and the space around them, in pixels. */
const LEAST_WIDTH = 280;
const MOST_WIDTH = 1060;
const SHEET_PADDING = 40;

/** Where views are shown: one picture, two side by side while layouts are compared, and what stands under them. */
export class Stage {
  readonly element = h('div', { class: 'stage' });
  readonly canvas: RankCanvas;
  readonly #other: RankCanvas;
  readonly #minimap = new Minimap();
  readonly #pictures = h('div', { class: 'pictures' });
  readonly #content = h('div', { class: 'content' });
  readonly legend = h('div', { class: 'legend' });
  #width = MOST_WIDTH;

  constructor(readonly events: StageEvents) {
    this.canvas = this.#newCanvas(() => this.#other);
    this.#other = this.#newCanvas(() => this.canvas);
    this.element.append(this.#pictures, this.legend, this.#content);
    new ResizeObserver(([entry]) => this.#widened(entry?.contentRect.width ?? 0)).observe(this.element);
  }

  /** The width available to diagrams and tables, in pixels. */
  get width(): number {
    return Math.max(LEAST_WIDTH, Math.min(MOST_WIDTH, this.#width - SHEET_PADDING));
  }

  #widened(width: number): void {
    const isNew = width !== this.#width;
    this.#width = width;
    if (isNew && this.#pictures.hidden) {
      this.events.resized();
    }
  }

  /** @param beside the other canvas, which follows the viewport while it is shown */
  #newCanvas(beside: () => RankCanvas): RankCanvas {
    const moved = (viewport: Viewport) => {
      const other = beside();
      if (other.element.isConnected) {
        other.viewport = viewport;
      }
      this.events.moved(viewport);
    };
    const canvas: RankCanvas = new RankCanvas({ ...this.events, moved, drawn: () => this.#drawn(canvas) });
    canvas.element.addEventListener('keydown', (event) => this.events.keyed(event));
    return canvas;
  }

  #drawn(canvas: RankCanvas): void {
    if (canvas === this.canvas) {
      this.#minimap.follow(canvas);
      this.events.drawn();
    }
  }

  set framing(on: boolean) {
    this.canvas.framing = on;
    this.#other.framing = on;
  }

  /** @param before what is marked in the picture of the layout that is compared with */
  mark(marks: Marks, before: Marks): void {
    this.canvas.mark(marks);
    this.#other.mark(before);
  }

  /** Makes room for a picture that is still to come. */
  prepare(): void {
    this.#arrange(true, null);
    this.#fill(null);
    this.canvas.measured();
    this.canvas.requestDraw();
  }

  /** Makes room for a view and shows what stands under its picture; gives the picture, or null where the view has none. */
  arrange(view: View, scene: Scene): Sketch | null {
    const { layout, base } = scene;
    const sketch = sketchOf(view, scene, layout);
    const content = view.picture && !isDrawn(layout) ? tooLarge(layout) : (view.content?.(scene) ?? null);
    this.#arrange(
      sketch !== null,
      sketch && base?.layout && isDrawn(base.layout) ? [`Before: ${base.title}`, 'Now'] : null,
    );
    this.#fill(content);
    this.element.classList.toggle('split', sketch !== null && content !== null);
    return sketch;
  }

  /**
   * Draws the picture of a view, and beside it that of the layout that it is compared with. Room has been made for them, and
   * all that stands around them is there: their size follows from that.
   * @param viewport the part of the picture that is shown, asked for as soon as there is the picture
   */
  draw(view: View, scene: Scene, sketch: Sketch, viewport: () => Viewport): void {
    const { layout, base } = scene;
    const stands = standingOut(scene);
    const show = (canvas: RankCanvas, one: ResolvedLayout, drawn: Sketch) => {
      const difference = markedDifference(scene.difference, one.worldSize);
      canvas.show(pictureOf(one, drawn, canvas.measured(), difference, stands), viewport);
    };
    show(this.canvas, layout, sketch);
    const before = base?.layout && sketchOf(view, scene, base.layout);
    if (base?.layout && before) {
      show(this.#other, base.layout, before);
      this.#other.element.setAttribute('aria-label', `Before: ${base.title}`);
    }
  }

  /** Shows something that is not a view of a layout. */
  showOnly(content: HTMLElement): void {
    this.#arrange(false, null);
    this.#fill(content);
  }

  /** Replaces the content at once, so that what is around it stays scrolled; opened details and focus stay. */
  #fill(content: HTMLElement | null): void {
    this.#content.hidden = !content;
    if (content && content !== this.#content.firstChild) {
      const isOpen = this.#content.querySelector('details')?.open ?? false;
      replaceKeepingFocus(this.#content, content);
      this.#content.querySelector('details')?.toggleAttribute('open', isOpen);
    } else if (!content) {
      this.#content.replaceChildren();
    }
  }

  #arrange(drawn: boolean, titles: readonly [string, string] | null): void {
    this.#pictures.hidden = !drawn;
    this.legend.hidden = !drawn;
    const wanted = drawn ? (titles ? [this.#other.element, this.canvas.element] : [this.canvas.element]) : [];
    for (const canvas of [this.canvas, this.#other]) {
      if (!wanted.includes(canvas.element)) {
        canvas.forget();
      }
    }
    const frames = [...this.#pictures.querySelectorAll('figure')];
    const same = frames.length === wanted.length && frames.every((frame, i) => frame.contains(wanted[i] ?? null));
    if (!same) {
      const focused = document.activeElement;
      this.#pictures.replaceChildren(
        ...wanted.map((canvas) => h('figure', {}, h('figcaption', {}), h('div', { class: 'frame' }, canvas))),
        this.#minimap.element,
      );
      if (focused instanceof HTMLElement && wanted.includes(focused as HTMLCanvasElement)) {
        focused.focus();
      }
    }
    for (const [i, frame] of [...this.#pictures.querySelectorAll('figure')].entries()) {
      const caption = frame.querySelector('figcaption');
      if (caption) {
        caption.textContent = titles?.[i] ?? '';
        caption.hidden = titles === null;
      }
    }
  }
}

const sketchOf = (view: View, scene: Scene, layout: ResolvedLayout): Sketch | null =>
  (isDrawn(layout) && view.picture?.(scene, layout)) || null;

/** What a view of ranks shows of a world that is too large for pictures. */
const tooLarge = ({ worldSize }: ResolvedLayout): HTMLElement =>
  h(
    'p',
    { class: 'empty' },
    `Pictures show up to ${grouped(MAX_DRAWN)} ranks; this layout has ${grouped(worldSize)}. The other views, Table and Find have all of them: choose a rank there to see its place and its groups.`,
  );

/** Which ranks stand out: those that differ, or those of the module that the cursor is in. */
function standingOut({ layout, difference, cursorModule }: Scene): Uint8Array | null {
  if (difference) {
    return markedDifference(difference, layout.worldSize)?.changes ?? null;
  }
  const { modules, worldSize } = layout;
  const module = modules.find(({ name, numRanks }) => name !== null && name === cursorModule && numRanks < worldSize);
  return module && isDrawn(layout)
    ? new Uint8Array(worldSize).fill(1, module.rankOffset, module.rankOffset + module.numRanks)
    : null;
}
