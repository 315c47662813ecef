import { grouped } from '../../layout';
import { type Found, findRanks, type Matches } from '../../picture/find';
import type { ExportFormat } from '../render/export';
import { viewOf, viewsOf } from '../views';
import { conditionsOf, type Scene } from '../views/view';
import { button, h, replaceKeepingFocus } from './dom';
import { Menu } from './menu';

/** The actions of the toolbar that do more than change the state. */
export interface ToolbarActions {
  /** Whether the panel stays with its document while another one becomes active. */
  lock(locked: boolean): void;
  export(format: ExportFormat): void;
  /** Saves all ranks as comma-separated values. */
  exportTable(): void;
  /** Whether dragging marks ranks as failed. */
  frame(on: boolean): void;
  found(found: Found, index: number): void;
}

/** What keys do while a picture has the focus. */
const KEYS: readonly (readonly [string, string])[] = [
  ['click', 'keep a rank'],
  ['double click, Enter', 'show its lines in the file'],
  ['arrows', 'move from rank to rank'],
  ['wheel, + − 0', 'zoom, and fit'],
  ['click a label', 'zoom to its block'],
  ['Shift + drag', 'mark ranks as failed'],
  ['X', 'mark the rank as failed'],
  ['C', 'copy its coordinates'],
  ['Esc', 'let go of a search, then of a group, then of the rank'],
  ['/', 'find'],
];

/** One row: the views, the search box, the options of the view, and more. */
export class Toolbar {
  readonly element: HTMLElement;
  readonly #tools: HTMLElement;
  readonly #tabs = h('div', { class: 'tabs', role: 'group', 'aria-label': 'View' });
  readonly #finder: Finder;
  readonly #options = new Menu('View', 'What this view shows');
  readonly #more = new Menu('More', 'Lock, export, mark failed ranks');
  readonly #help = new Menu('?', 'Keys');
  #framing = false;
  #shown = '';

  constructor(readonly actions: ToolbarActions) {
    this.#finder = new Finder((found, index) => actions.found(found, index));
    const keys = KEYS.flatMap(([key, what]) => [h('dt', {}, key), h('dd', {}, what)]);
    this.#help.fill(h('dl', { class: 'keys' }, ...keys));
    const tools = h(
      'div',
      { class: 'tools', inert: true },
      this.#finder.element,
      this.#options.element,
      this.#more.element,
      this.#help.element,
    );
    this.#tools = tools;
    this.element = h('header', { class: 'chrome' }, this.#tabs, tools);
    this.#tabs.addEventListener('wheel', (event) => this.#scroll(event), { passive: false });
  }

  focusFind(): void {
    this.#finder.input.focus();
  }

  /** @param drawn whether the view is a picture of ranks now */
  render(scene: Scene, drawn: boolean): void {
    const view = viewOf(scene);
    const views = viewsOf(scene);
    this.#finder.search = (text) => findRanks(scene.layout, text, conditionsOf(scene));
    this.#tools.inert = false;
    const tabs = views.map(({ id, label, question }) =>
      button(label, () => scene.actions.change({ view: id }), {
        class: 'tab',
        title: question,
        'aria-pressed': String(id === view.id),
        'data-keep': `view ${id}`,
      }),
    );
    replaceKeepingFocus(this.#tabs, ...tabs);
    this.#reveal(view.id);
    this.#options.fill(...(view.pickers?.(scene) ?? []));
    this.#more.fill(...this.#entries(scene, drawn));
  }

  /** Brings the tab of another view into sight; the row stays where a person scrolled it while the view stays. */
  #reveal(view: string): void {
    if (view !== this.#shown) {
      this.#shown = view;
      this.#tabs.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
  }

  /** A wheel that turns up and down moves the row of tabs aside. */
  #scroll(event: WheelEvent): void {
    if (event.deltaX === 0 && this.#tabs.scrollWidth > this.#tabs.clientWidth) {
      this.#tabs.scrollLeft += event.deltaY;
      event.preventDefault();
    }
  }

  #entries(scene: Scene, drawn: boolean): HTMLElement[] {
    const save = (format: ExportFormat) =>
      button(`Export ${format.toUpperCase()}`, () => this.actions.export(format), { class: 'entry' });
    const framer = button('Mark failed', () => this.#frame(framer), {
      class: 'entry',
      'aria-pressed': String(this.#framing),
      'data-keep': 'mark failed',
      title: 'Click or drag over ranks to mark them as failed',
    });
    const { locked } = scene.state;
    const lock = button('Stay with this layout', () => this.actions.lock(!locked), {
      class: 'entry',
      'aria-pressed': String(locked),
      'data-keep': 'lock',
      title: 'Otherwise the panel follows the active layout',
    });
    return [
      lock,
      ...(drawn ? [framer] : []),
      ...(drawn || viewOf(scene).diagram ? [save('svg'), save('png')] : []),
      button('Export CSV', () => this.actions.exportTable(), { class: 'entry' }),
    ];
  }

  #frame(framer: HTMLElement): void {
    this.#framing = !this.#framing;
    framer.setAttribute('aria-pressed', String(this.#framing));
    this.#more.element.querySelector('summary')?.classList.toggle('menu-active', this.#framing);
    this.actions.frame(this.#framing);
  }
}

/** The search box: Enter goes to the next match, Shift+Enter to the one before. What it does not understand, it says. */
class Finder {
  readonly input = h('input', {
    type: 'search',
    class: 'find',
    placeholder: 'Find',
    title: 'rank 5, node 3, 0:5, dp=1 pp=0, tp=0-3, failed',
    'aria-label': 'Find ranks by number, node, coordinates, or failed',
    'aria-describedby': 'find-answer',
  });
  readonly #answer = h('span', { class: 'matches', id: 'find-answer' });
  readonly element = h('div', { class: 'finder' }, this.input, this.#answer);
  search: (text: string) => Found = () => ({ problem: '' });
  #last = '';
  #index = 0;

  constructor(found: (found: Found, index: number) => void) {
    this.input.addEventListener('input', () => {
      this.#last = '';
      this.#say('', true);
    });
    this.input.addEventListener('keydown', ({ key, shiftKey }) => {
      if (key === 'Enter') {
        const answer = this.search(this.input.value);
        this.#index = 'problem' in answer ? 0 : this.#next(answer, shiftKey);
        this.#last = this.input.value;
        found(answer, this.#index);
        const text = 'problem' in answer ? answer.problem : `${grouped(this.#index + 1)} of ${grouped(answer.count)}`;
        this.#say(text, !('problem' in answer));
      }
    });
  }

  #next({ count }: Matches, back: boolean): number {
    return this.input.value === this.#last ? (this.#index + (back ? count - 1 : 1)) % count : 0;
  }

  #say(text: string, isFound: boolean): void {
    this.#answer.textContent = text;
    this.#answer.classList.toggle('problem', !isFound && text !== '');
    this.input.setAttribute('aria-invalid', String(!isFound));
  }
}
