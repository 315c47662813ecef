import { grouped } from '../../layout';
import { type Conditions, findRanks, type Matches } from '../../picture/find';
import type { ExportFormat } from '../render/export';
import { viewOf, viewsOf } from '../views';
import type { Scene } from '../views/view';
import { button, choose, h, type Option, picker, replaceKeepingFocus } from './dom';
import type { CompareWith } from './messages';

/** What the toolbar does beside changing the state. */
export interface ToolbarActions {
  compare(what: CompareWith): void;
  export(format: ExportFormat): void;
  /** Whether dragging marks ranks as failed. */
  frame(on: boolean): void;
  found(matches: Matches | null, index: number): void;
}

const COMPARISONS: readonly Option<CompareWith>[] = [
  { value: 'nothing', label: 'nothing' },
  { value: 'commit', label: 'last commit' },
  { value: 'file', label: 'another file …' },
];

const EXPORTS: readonly Option<ExportFormat | 'none'>[] = [
  { value: 'none', label: 'as …' },
  { value: 'svg', label: 'SVG' },
  { value: 'png', label: 'PNG' },
];

/** The views, what each can be asked, and the search box. */
export class Toolbar {
  readonly views = h('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'View' });
  /** The same for all views. They are there before the first layout is, so that its picture need not wait for them. */
  readonly tools: HTMLElement;
  readonly #finder: Finder;
  readonly #framer: HTMLElement;
  readonly #compare: HTMLElement;
  readonly #export: HTMLElement;
  #framing = false;

  constructor(readonly actions: ToolbarActions) {
    this.#finder = new Finder((matches, index) => actions.found(matches, index));
    this.#framer = button('Mark failed', () => this.#frame(), {
      class: 'toggle',
      'aria-pressed': 'false',
      title: 'Click or drag over ranks to mark them as failed',
    });
    this.#compare = picker('Compare with', COMPARISONS, 'nothing', (what) => actions.compare(what));
    this.#export = picker('Export', EXPORTS, 'none', (format) => {
      choose(this.#export, 'none');
      if (format !== 'none') {
        actions.export(format);
      }
    });
    const group = h('div', { class: 'group-of-tools' }, this.#framer, this.#compare, this.#export);
    this.tools = h('div', { class: 'tools', inert: true }, group, this.#finder.element);
  }

  focusFind(): void {
    this.#finder.input.focus();
  }

  /** @param drawn whether the view is a picture of ranks now */
  render(scene: Scene, conditions: Conditions, drawn: boolean): void {
    const view = viewOf(scene);
    this.#finder.search = (text) => findRanks(scene.layout, text, conditions);
    this.tools.inert = false;
    this.#framer.hidden = !drawn;
    this.#export.hidden = !drawn;
    choose(this.#compare, scene.state.compare);
    const tabs = viewsOf(scene).map(({ id, label }) =>
      button(label, () => scene.actions.change({ view: id }), {
        class: 'tab',
        'aria-pressed': String(id === view.id),
        'data-keep': `view ${id}`,
      }),
    );
    const pickers = view.pickers?.(scene) ?? [];
    replaceKeepingFocus(
      this.views,
      h('div', { class: 'tabs', role: 'group', 'aria-label': 'View' }, ...tabs),
      ...pickers,
    );
  }

  #frame(): void {
    this.#framing = !this.#framing;
    this.#framer.setAttribute('aria-pressed', String(this.#framing));
    this.actions.frame(this.#framing);
  }
}

/** The search box: Enter goes to the next match, Shift+Enter to the one before. */
class Finder {
  readonly input = h('input', {
    type: 'search',
    class: 'find',
    placeholder: 'Find: 5, 0:5, dp=1 pp=0',
    'aria-label': 'Find a rank by number, node:gpu, coordinates, or failed',
  });
  readonly #count = h('span', { class: 'matches', 'aria-hidden': 'true' });
  readonly element = h('div', { class: 'finder' }, this.input, this.#count);
  search: (text: string) => Matches | null = () => null;
  #last = '';
  #index = 0;

  constructor(found: (matches: Matches | null, index: number) => void) {
    this.input.addEventListener('input', () => {
      this.#last = '';
      this.#count.textContent = '';
      this.input.setAttribute('aria-invalid', 'false');
    });
    this.input.addEventListener('keydown', ({ key, shiftKey }) => {
      if (key !== 'Enter') {
        return;
      }
      const text = this.input.value;
      const matches = this.search(text);
      this.#index =
        matches && text === this.#last ? (this.#index + (shiftKey ? matches.count - 1 : 1)) % matches.count : 0;
      this.#last = text;
      this.input.setAttribute('aria-invalid', String(matches === null));
      this.#count.textContent = matches ? `${grouped(this.#index + 1)} of ${grouped(matches.count)}` : 'no rank';
      found(matches, this.#index);
    });
  }
}
