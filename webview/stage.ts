import type { ResolvedLayout } from '../layout';
import { RankCanvas, type Viewport } from './canvas';
import type { Colouring } from './colour';
import { h } from './dom';
import { coordinatesOf, modulesOf } from './facts';
import type { Marks, Picture } from './paint';
import type { Scene, View } from './views/view';

/** What a person does with the pictures. */
export interface StageEvents {
  hovered(rank: number): void;
  clicked(rank: number): void;
  framed(ranks: readonly number[]): void;
  moved(viewport: Viewport): void;
  resized(): void;
  keyed(event: KeyboardEvent): void;
}

/** Where views are shown: one picture, two side by side while layouts are compared, and what stands under them. */
export class Stage {
  readonly element = h('div', { class: 'stage' });
  readonly canvas: RankCanvas;
  readonly #other: RankCanvas;
  readonly #pictures = h('div', { class: 'pictures' });
  readonly #content = h('div', { class: 'content' });

  constructor(readonly events: StageEvents) {
    this.canvas = this.#newCanvas((viewport) => {
      this.#other.viewport = viewport;
      events.moved(viewport);
    });
    this.#other = this.#newCanvas((viewport) => {
      this.canvas.viewport = viewport;
      events.moved(viewport);
    });
    this.element.append(this.#pictures, this.#content);
  }

  #newCanvas(moved: (viewport: Viewport) => void): RankCanvas {
    const canvas = new RankCanvas({ ...this.events, moved });
    canvas.element.addEventListener('keydown', (event) => this.events.keyed(event));
    return canvas;
  }

  set framing(on: boolean) {
    this.canvas.framing = on;
    this.#other.framing = on;
  }

  mark(marks: Marks): void {
    this.canvas.mark(marks);
    this.#other.mark(marks);
  }

  /**
   * Shows a view.
   * @param viewport the part of the picture that is shown, asked for as soon as there is the picture
   * @returns what colours its picture, or null where it has none
   */
  show(view: View, scene: Scene, stands: Uint8Array | null, viewport: () => Viewport): Colouring | null {
    const content = view.content?.(scene);
    const drawn = view.picture?.(scene, scene.layout, this.canvas.space) ?? null;
    const base = drawn && scene.base?.layout ? scene.base : null;
    this.#arrange(drawn !== null, base ? [`Before: ${base.title}`, 'Now'] : null);
    const scroll = this.#content.scrollTop;
    this.#content.replaceChildren(...(content ? [content] : []));
    this.#content.hidden = !content;
    this.#content.scrollTop = scroll;
    this.element.classList.toggle('split', drawn !== null && content != null);
    if (!drawn) {
      return null;
    }
    // the space is known only once the canvas stands where it will stay
    const picture = view.picture?.(scene, scene.layout, this.canvas.space) ?? drawn;
    this.canvas.show(pictureOf(scene, scene.layout, picture, stands), viewport);
    if (base?.layout) {
      const before = view.picture?.(scene, base.layout, this.#other.space);
      if (before) {
        this.#other.show(pictureOf(scene, base.layout, before, stands), viewport);
        this.#other.element.setAttribute('aria-label', `Before: ${base.title}`);
      }
    }
    return picture.colouring;
  }

  /** Shows something that is not a view of a layout. */
  showOnly(content: HTMLElement): void {
    this.#arrange(false, null);
    this.#content.replaceChildren(content);
    this.#content.hidden = false;
  }

  #arrange(drawn: boolean, titles: readonly [string, string] | null): void {
    this.#pictures.hidden = !drawn;
    const wanted = drawn ? (titles ? [this.#other.element, this.canvas.element] : [this.canvas.element]) : [];
    const frames = [...this.#pictures.children];
    const same = frames.length === wanted.length && frames.every((frame, i) => frame.contains(wanted[i] ?? null));
    if (!same) {
      const focused = document.activeElement;
      this.#pictures.replaceChildren(
        ...wanted.map((canvas) => h('figure', {}, h('figcaption', {}), h('div', { class: 'frame' }, canvas))),
      );
      if (focused instanceof HTMLElement && wanted.includes(focused as HTMLCanvasElement)) {
        focused.focus();
      }
    }
    for (const [i, frame] of [...this.#pictures.children].entries()) {
      const caption = frame.querySelector('figcaption');
      if (caption) {
        caption.textContent = titles?.[i] ?? '';
        caption.hidden = titles === null;
      }
    }
  }
}

function pictureOf(
  { difference }: Scene,
  layout: ResolvedLayout,
  { placement, colouring }: Pick<Picture, 'placement' | 'colouring'>,
  stands: Uint8Array | null,
): Picture {
  const describe = (rank: number) =>
    modulesOf(layout, rank)
      .slice(0, 1)
      .flatMap((module) => cellLines(module.name, coordinatesOf(layout, module, rank)));
  const changeOf = difference && ((rank: number) => difference.changeOf(rank));
  return { placement, colouring, worldSize: layout.worldSize, describe, stands, changeOf };
}

/** The text under a rank's number: the module, then its coordinates, two a line. */
function cellLines(module: string | null, coordinates: readonly string[]): string[] {
  const lines = module === null ? [] : [module];
  for (let i = 0; i < coordinates.length; i += 2) {
    lines.push(coordinates.slice(i, i + 2).join(' · '));
  }
  return lines;
}
