import { grouped } from '../layout';
import { button, h, picker, replaceKeepingFocus } from './dom';
import type { ExportFormat } from './export';
import { type Conditions, findRanks, type Matches } from './find';
import type { CompareWith } from './messages';
import { viewOf, viewsOf } from './views';
import type { Scene } from './views/view';

/** What the toolbar does beside changing the state. */
export interface ToolbarActions {
  compare(what: CompareWith): void;
  export(format: ExportFormat): void;
  /** Whether dragging marks ranks as failed. */
  frame(on: boolean): void;
  found(matches: Matches | null, index: number): void;
}

/** The views, what each can be asked, and the search box. */
export class Toolbar {
  readonly views = h('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'View' });
  readonly tools = h('div', { class: 'tools' });
  readonly #finder: Finder;
  #framing = false;

  constructor(readonly actions: ToolbarActions) {
    this.#finder = new Finder((matches, index) => actions.found(matches, index));
  }

  focusFind(): void {
    this.#finder.input.focus();
  }

  /** @param drawn whether the view is a picture of ranks now */
  render(scene: Scene, conditions: Conditions, drawn: boolean): void {
    const view = viewOf(scene);
    this.#finder.search = (text) => findRanks(scene.layout, text, conditions);
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
    // the search box itself stays, so that typing in it is not interrupted by edits of the text
    const rest = [...(drawn ? [this.#framer()] : []), this.#compare(scene), ...(drawn ? [this.#export()] : [])];
    const box = this.#finder.element;
    if (box.parentElement !== this.tools) {
      this.tools.append(h('div', { class: 'group-of-tools' }), box);
    }
    const group = this.tools.firstElementChild;
    if (group) {
      replaceKeepingFocus(group, ...rest);
    }
  }

  #framer(): HTMLElement {
    const toggle = button(
      'Mark failed',
      () => {
        this.#framing = !this.#framing;
        toggle.setAttribute('aria-pressed', String(this.#framing));
        this.actions.frame(this.#framing);
      },
      {
        class: 'toggle',
        'aria-pressed': String(this.#framing),
        'data-keep': 'frame',
        title: 'Click or drag over ranks to mark them as failed',
      },
    );
    return toggle;
  }

  #compare({ state }: Scene): HTMLElement {
    const options: { value: CompareWith; label: string }[] = [
      { value: 'nothing', label: 'nothing' },
      { value: 'commit', label: 'last commit' },
      { value: 'file', label: 'another file …' },
    ];
    return picker('Compare with', options, state.compare, (what) => this.actions.compare(what));
  }

  #export(): HTMLElement {
    const options: { value: ExportFormat | 'none'; label: string }[] = [
      { value: 'none', label: 'as …' },
      { value: 'svg', label: 'SVG' },
      { value: 'png', label: 'PNG' },
    ];
    const element = picker('Export', options, 'none', (format) => {
      const select = element.querySelector('select');
      if (select) {
        select.value = 'none';
      }
      if (format !== 'none') {
        this.actions.export(format);
      }
    });
    return element;
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
