import { countOf } from '../../layout';
import { markedDifference } from '../../picture/difference';
import type { Sketch } from '../../picture/drawing';
import { type Legend, legendOf } from '../../picture/legend';
import type { RankBitmap } from '../render/bitmap';
import type { Viewport } from '../render/canvas';
import { factorFor } from '../render/paint';
import { themeKind } from '../render/theme';
import { viewOf } from '../views';
import type { Actions, Scene } from '../views/view';
import { diagnosticList, worldSheet } from '../views/world';
import { checkpointCards } from './checkpointCard';
import { differenceCard, rankDetails, summary } from './details';
import { button, h, replaceKeepingFocus } from './dom';
import { failureCard } from './failureCard';
import { legendElements } from './legend';
import type { PanelModel } from './model';
import { noticeOf } from './notice';
import { Scoreboard } from './scoreboard';
import { Stage, type StageEvents } from './stage';
import { Toolbar, type ToolbarActions } from './toolbar';

/** How soon the list shows the rank under the pointer, and the legend what a person zoomed to, in milliseconds. */
const FOLLOW = 60;

/** How many diagnostics stand in place of a picture. */
const MAX_DIAGNOSTICS = 5;

/** The elements of the panel and their content. */
export class Screen {
  readonly stage: Stage;
  readonly toolbar: Toolbar;
  readonly #live = h('div', { class: 'visually-hidden', role: 'status', 'aria-live': 'polite' });
  readonly #notice = h('div', { class: 'notice', role: 'alert', hidden: true });
  readonly #title = h('h1');
  readonly #sub = h('p', { class: 'sub' });
  readonly #alone = h('div', { class: 'alone' });
  readonly #details = h('div', { class: 'details-body' });
  readonly #aside: HTMLElement;
  readonly #handle: HTMLElement;
  readonly #body: HTMLElement;
  readonly #scoreboard: Scoreboard;
  #detailsTimer: ReturnType<typeof setTimeout> | undefined;
  #legendTimer: ReturnType<typeof setTimeout> | undefined;
  /** The picture that is shown. */
  #sketch: Sketch | null = null;
  /** The legend that is shown, as text. */
  #legend = '';

  constructor(
    root: HTMLElement,
    stageEvents: Omit<StageEvents, 'drawn'>,
    toolbarActions: ToolbarActions,
    readonly actions: Actions,
    readonly scene: () => Scene | null,
    readonly focus: () => number,
  ) {
    this.stage = new Stage({
      ...stageEvents,
      drawn: () => {
        this.#legendTimer ??= setTimeout(() => this.#followZoom(), FOLLOW);
      },
    });
    this.toolbar = new Toolbar(toolbarActions);
    this.#scoreboard = new Scoreboard();
    this.#handle = button('⌃', () => this.#grow(!this.#aside.classList.contains('open')), {
      class: 'grow',
      'aria-expanded': 'false',
      'aria-label': 'All of the list',
    });
    this.#aside = h('aside', { class: 'details', 'aria-label': 'Rank' }, this.#handle, this.#details);
    this.#body = h(
      'div',
      { class: 'body' },
      h(
        'div',
        { class: 'main' },
        h('div', { class: 'headline' }, this.#title, this.#sub, this.#alone),
        this.stage.element,
      ),
      this.#aside,
      this.#notice,
    );
    root.append(this.toolbar.element, this.#scoreboard.element, this.#body, this.#live);
    this.stage.prepare();
  }

  /** Opens the card at the foot of a narrow pane, or folds it to three lines. */
  #grow(isOpen: boolean): void {
    this.#aside.classList.toggle('open', isOpen);
    this.#handle.setAttribute('aria-expanded', String(isOpen));
  }

  /** Shows what comes next from its beginning. */
  scrollToTop(): void {
    this.stage.element.parentElement?.scrollTo(0, 0);
  }

  /** Brings the first card of the list into sight. */
  showCards(): void {
    this.#grow(true);
    this.#aside.scrollTop = 0;
  }

  /** Says what is shown alone, with a button that shows all ranks again; an empty text takes it away. */
  showAlone(text: string, showAll: () => void): void {
    if (this.#alone.dataset.text !== text) {
      this.#alone.dataset.text = text;
      const chip = [text, h('span', { 'aria-hidden': 'true' }, ' ×')];
      this.#alone.replaceChildren(
        ...(text === '' ? [] : [button(chip, showAll, { class: 'chip', title: 'Show all ranks (Esc)' })]),
      );
    }
  }

  /** The picture that is shown; null while the view has none. */
  get sketch(): Sketch | null {
    return this.#sketch;
  }

  announce(text: string): void {
    this.#live.textContent = text;
  }

  /** Draws all anew. */
  render(model: PanelModel, scene: Scene | null, viewport: () => Viewport): void {
    document.body.classList.toggle('stale', model.isStale);
    if (!scene) {
      this.#renderUnfinished(model);
      return;
    }
    const view = viewOf(scene);
    this.#body.classList.toggle('wide', view.isWide === true);
    this.#scoreboard.render(scene);
    this.#renderNotice(scene, view.id === 'world');
    const { title, sub } = view.headline(scene);
    // a range stays on one line
    this.#title.textContent = title.replaceAll(' – ', '\u00a0–\u00a0');
    this.#sub.textContent = [scene.title, sub].filter(Boolean).join(' · ');
    this.#sketch = this.stage.arrange(view, scene);
    this.#renderLegend(scene);
    if (this.#details.hasChildNodes()) {
      this.toolbar.render(scene, this.#sketch !== null);
      this.renderDetails();
    } else {
      // the first picture does not wait for what stands around it and keeps its place
      this.detailsSoon();
    }
    if (this.#sketch) {
      this.stage.draw(view, scene, this.#sketch, viewport);
      this.stage.canvas.element.setAttribute('aria-label', `${this.viewText(scene)}. Arrow keys move between ranks.`);
    }
  }

  /** Shows as much of a file as is known before it resolves for the first time. */
  #renderUnfinished({ outline, diagnostics, uri }: PanelModel): void {
    if (uri !== '') {
      this.stage.showOnly(
        outline.spans.length > 0
          ? worldSheet(outline, diagnostics, this.actions)
          : h(
              'div',
              { class: 'empty' },
              h('p', {}, 'The ranks are drawn as soon as the layout says how many there are.'),
              ...diagnosticList(diagnostics.slice(0, MAX_DIAGNOSTICS), this.actions),
            ),
      );
    }
  }

  /** The view in one line, for screen readers. */
  viewText(scene: Scene): string {
    const view = viewOf(scene);
    const colours = this.#sketch ? `, coloured by ${this.#sketch.colouring.name}` : '';
    return `${view.label} view, ${countOf(scene.layout.worldSize, 'rank')}${colours}. ${view.headline(scene).title.replace(/\.$/, '')}`;
  }

  /** The legend of the picture as it is shown now: what it says of boxes and of ranks a pixel depends on the magnification. */
  #legendOf(scene: Scene): Legend | null {
    if (!this.#sketch) {
      return null;
    }
    const { view, marked } = this.stage.canvas;
    const geometry = view?.geometry ?? null;
    const { difference, failed, layout, results } = scene;
    const cells = this.#painted;
    return legendOf(
      // colours that tell neighbours apart are known once the picture is there
      cells?.picture.colouring ?? this.#sketch.colouring,
      {
        layout,
        cells,
        geometry,
        failed,
        atFault: results?.suspects.size ?? 0,
        difference: markedDifference(difference, layout.worldSize),
        links: marked.links,
        peers: marked.named,
        isolated: marked.example,
        ranksPerPixel: factorFor(geometry?.cell ?? 1) ** 2,
      },
      themeKind(),
    );
  }

  /** The picture of the view; null while it is still to come. */
  get #painted(): RankBitmap | null {
    const { shown } = this.stage.canvas;
    return shown?.picture.colouring.name === this.#sketch?.colouring.name ? shown : null;
  }

  #renderLegend(scene: Scene): void {
    const legend = this.#legendOf(scene);
    const text = JSON.stringify(legend);
    if (text !== this.#legend) {
      this.#legend = text;
      this.stage.legend.replaceChildren(...(legend ? legendElements(legend) : []));
    }
  }

  /** Updates the legend after zooming. */
  #followZoom(): void {
    this.#legendTimer = undefined;
    const scene = this.scene();
    if (scene) {
      this.#renderLegend(scene);
    }
  }

  #renderNotice(scene: Scene, isWorld: boolean): void {
    // the world view shows each diagnostic where it belongs
    const notice = isWorld ? [] : noticeOf(scene);
    replaceKeepingFocus(this.#notice, ...notice);
    this.#notice.hidden = notice.length === 0;
  }

  renderDetails(): void {
    const scene = this.scene();
    if (!scene) {
      this.#details.replaceChildren();
      return;
    }
    if (viewOf(scene).isWide && this.#details.hasChildNodes()) {
      return;
    }
    const focus = this.focus();
    replaceKeepingFocus(
      this.#details,
      ...failureCard(scene),
      ...differenceCard(scene),
      ...checkpointCards(scene),
      ...(focus >= 0 && focus < scene.layout.worldSize ? rankDetails(scene, focus) : [summary(scene)]),
    );
  }

  /** The list follows a moving pointer a few times a second: laying it out costs more than all the drawing. */
  detailsSoon(): void {
    this.#detailsTimer ??= setTimeout(() => {
      this.#detailsTimer = undefined;
      const scene = this.#details.hasChildNodes() ? null : this.scene();
      if (scene) {
        this.toolbar.render(scene, this.#sketch !== null);
      }
      this.renderDetails();
    }, FOLLOW);
  }
}
