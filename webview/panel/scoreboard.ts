import { slowestModule } from '../../layout/cost';
import { type Board, boardsOf, type Figure, figuresOf } from '../../picture/scoreboard';
import type { Scene } from '../views/view';
import { h, link, type Option, picker, replaceKeepingFocus, tableOf, tableRow } from './dom';
import type { CompareWith } from './messages';

const BASES: readonly Option<CompareWith>[] = [
  { value: 'nothing', label: 'nothing' },
  { value: 'saved', label: 'the saved file' },
  { value: 'commit', label: 'the last commit' },
  { value: 'file', label: 'another layout …' },
  { value: 'run', label: 'a measured run …' },
];

/** How many keys that would tell more are offered at once. */
const MAX_KEYS = 3;

/** The numbers that decide, above every view. It is as high before they are known as after. */
export class Scoreboard {
  readonly #boards = h('div', { class: 'boards' });
  readonly #against = h('div', { class: 'against' });
  readonly element = h('section', { class: 'scoreboard', 'aria-label': 'Scoreboard' }, this.#boards, this.#against);

  constructor() {
    // nothing is said before the editor has said anything; its room is kept
    this.element.inert = true;
    this.#boards.append(boardElement({ module: null, figures: EMPTY, missing: [] }));
  }

  /** What is shown was made of these. */
  #inputs: readonly unknown[] = [];

  render(scene: Scene): void {
    const { scores, base, state, comparison, actions } = scene;
    this.element.classList.toggle('old', scene.isUnsound);
    const inputs = [scores, base, state.compare, comparison];
    if (this.#inputs.length > 0 && inputs.every((input, i) => input === this.#inputs[i])) {
      return;
    }
    this.#inputs = inputs;
    const boards = boardsOf(scores, base?.scores ?? null);
    const slowest = slowestModule(scores)?.module;
    this.element.inert = false;
    if (boards.length > 0) {
      const [only] = boards;
      this.#boards.replaceChildren(only && boards.length === 1 ? boardElement(only) : boardsTable(boards, slowest));
    }
    // how the layout differs from its base, where that is known
    const words = base?.problem ?? comparison?.changed;
    replaceKeepingFocus(
      this.#against,
      picker('Compare with', BASES, state.compare, (what) => {
        actions.change({ compare: what, baseFile: null });
        actions.send({ type: 'compare', with: what, file: null });
      }),
      ...(words ? [h('span', { class: 'hint' }, words)] : []),
      ...keyButtons(scene, boards),
    );
  }
}

/** What stands there before anything is known. */
const EMPTY = figuresOf(null, null);

const boardElement = ({ figures }: Board): HTMLElement => h('dl', { class: 'figures' }, ...figures.map(figureElement));

/** The boards of several modules as a table, a row each: it is no higher than one board for two of them. */
function boardsTable(boards: readonly Board[], slowest: string | null | undefined): HTMLElement {
  const rows = boards.map(({ module, figures }) =>
    tableRow(
      module === slowest ? `${module}, the slowest` : (module ?? ''),
      figures.map(({ value, change, verdict, alarm }) =>
        h('span', { class: `number-of ${alarm ?? ''}` }, value ?? '–', ' ', ...changeElement(change, verdict)),
      ),
    ),
  );
  return tableOf(['', ...EMPTY.map(({ label }) => label)], rows);
}

/** What the shape of a change says to those who see no colours. */
const ARROWS = { better: '✓', worse: '!', same: '' } as const;

function changeElement(change: Figure['change'], verdict: Figure['verdict']): HTMLElement[] {
  return change === null || verdict === null
    ? []
    : [
        h(
          'span',
          { class: `change ${verdict}` },
          change,
          h('span', { class: 'visually-hidden' }, ` ${verdict}`),
          h('span', { 'aria-hidden': 'true' }, ARROWS[verdict]),
        ),
      ];
}

function figureElement({ label, value, range, change, verdict, alarm }: Figure): HTMLElement {
  return h(
    'div',
    { class: `figure ${alarm ?? ''}`, ...(range ? { title: `nine in ten within ${range}` } : {}) },
    h('dt', {}, h('span', { class: 'label' }, label), ...changeElement(change, verdict)),
    h('dd', {}, value ?? '–', ...(range ? [h('span', { class: 'range' }, ` ${range}`)] : [])),
  );
}

/** Buttons that add the keys without which a number is not known. */
function keyButtons({ actions }: Scene, boards: readonly Board[]): HTMLElement[] {
  const isOpen = boards.some(({ figures }) => figures.some(({ label, value }) => value === null && label !== 'bubble'));
  const missing = [...new Set(boards.flatMap((board) => board.missing))].filter((key) => /^\w+\.\w+$/.test(key));
  // a model has a name, or is written as a whole
  const others = missing.filter((key) => !key.startsWith('model.'));
  const keys = missing.length - others.length > 2 ? ['model', ...others] : missing;
  return isOpen && keys.length > 0
    ? [
        h(
          'span',
          { class: 'lacks' },
          'Add ',
          ...keys.slice(0, MAX_KEYS).map((key) => link(key, () => actions.send({ type: 'addKey', key }), `add ${key}`)),
        ),
      ]
    : [];
}
