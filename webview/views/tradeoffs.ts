import { secondsText } from '../../layout';
import type { Neighbour } from '../../layout/cost';
import { memory } from '../../picture/cost';
import { subject } from '../../picture/headline';
import { figuresOf } from '../../picture/scoreboard';
import {
  type Beside,
  changeTitle,
  frontOf,
  type ScatterPoint,
  scatterOf,
  scatterRows,
  tradeoffsHeadline,
  type Weighed,
} from '../../picture/tradeoffs';
import { button, h, tableOf, tableRow } from '../panel/dom';
import { diagramElement } from '../render/diagram';
import type { Scene, View } from './view';

/** The pictures of changes and of alternatives stand side by side from this width on, in pixels. */
const SIDE_BY_SIDE = 720;
const LIST_WIDTH = 370;

/** How near a pointer must be to a point, in pixels. */
const NEAR = 12;

/** The change that a person looks at, as its title: it stays the same while others come and go. */
let chosen = '';

/** What is shown and what it was made of: while a person types it stays, greyed, until the text has been weighed. */
let sheet: { readonly inputs: readonly unknown[]; readonly element: HTMLElement } | null = null;

/** What a layout is weighed against: all others that fit, and those one change away. */
export const tradeoffs: View = {
  id: 'tradeoffs',
  label: 'Trade-offs',
  question: 'Does it fit, and what if one number changes?',
  isWide: true,
  headline: (scene) => {
    const { layout, tradeoffs: found } = scene;
    const sub = subject(layout);
    return found
      ? tradeoffsHeadline({ now: scoreOfAll(scene), alternatives: found.alternatives }, sub)
      : { title: 'Looking for layouts that fit…', sub };
  },
  diagram: (scene, width) => scatterOf(weighedOf(scene), width),
  content: (scene) => {
    const { tradeoffs: found, base, width } = scene;
    const inputs = [found, base, width, chosen];
    if (!sheet || sheet.inputs.some((input, i) => input !== inputs[i])) {
      sheet = { inputs, element: found ? content(scene) : h('div', { class: 'sheet tradeoffs' }) };
    }
    sheet.element.classList.toggle('old', scene.isWeighing);
    return sheet.element;
  },
};

const scoreOfAll = ({ scores }: Scene) => (scores.length === 1 ? (scores[0]?.score ?? null) : null);

function weighedOf(scene: Scene): Weighed {
  const { tradeoffs: found, base } = scene;
  const change = found?.neighbours.find((one) => changeTitle(one) === chosen);
  const [before] = base?.scores ?? [];
  const beside: Beside | null = base && !base.run && before?.score ? { title: base.title, score: before.score } : null;
  return {
    now: scoreOfAll(scene),
    alternatives: found?.alternatives ?? { ok: false, reason: 'the layout has not been weighed yet' },
    base: beside,
    change: change ? { title: chosen, score: change.score } : null,
    run: base?.run ?? null,
  };
}

function content(scene: Scene): HTMLElement {
  const { width } = scene;
  const isWide = width >= SIDE_BY_SIDE;
  return h(
    'div',
    { class: isWide ? 'sheet tradeoffs beside' : 'sheet tradeoffs' },
    scatterElement(scene, isWide ? width - LIST_WIDTH : width),
    changesElement(scene),
  );
}

/** The scatter; pointing at a layout names it, and a click on one of the front shows it as a diff. */
function scatterElement(scene: Scene, width: number): HTMLElement {
  const weighed = weighedOf(scene);
  const scatter = scatterOf(weighed, width);
  const picture = diagramElement(scatter, tradeoffs.headline(scene).title);
  const tip = h('div', { class: 'tip', hidden: true });
  const near = (event: MouseEvent) => {
    const { left, top } = picture.getBoundingClientRect();
    return nearest(scatter.points, event.clientX - left, event.clientY - top);
  };
  picture.addEventListener('mousemove', (event) => {
    const point = near(event);
    tip.hidden = !point;
    picture.classList.toggle('clickable', (point?.front ?? -1) >= 0);
    if (point) {
      tip.textContent = point.words;
      tip.style.left = `${Math.max(0, Math.min(point.x + 10, width - 240))}px`;
      tip.style.top = `${point.y + 12}px`;
    }
  });
  picture.addEventListener('mouseleave', () => {
    tip.hidden = true;
  });
  picture.addEventListener('click', (event) => {
    const front = near(event)?.front ?? -1;
    if (front >= 0) {
      scene.actions.send({ type: 'tryChange', kind: 'front', index: front, how: 'preview' });
    }
  });
  return h('div', { class: 'scatter' }, picture, tip, rowsElement(scene, weighed));
}

function nearest(points: readonly ScatterPoint[], x: number, y: number): ScatterPoint | null {
  let best: ScatterPoint | null = null;
  let least = NEAR ** 2;
  for (const point of points) {
    // layouts of the front can be chosen: they win over others beside them
    const distance = ((point.x - x) ** 2 + (point.y - y) ** 2) * (point.front >= 0 ? 0.5 : 1);
    if (distance < least) {
      [best, least] = [point, distance];
    }
  }
  return best;
}

/** The scatter as a table; layouts of the front can be shown from it, too. */
function rowsElement({ actions, tradeoffs: found }: Scene, weighed: Weighed): HTMLElement {
  const rows = scatterRows(weighed);
  const front = found?.alternatives.ok ? frontOf(found.alternatives.points).length : 0;
  return h(
    'details',
    { class: 'numbers' },
    h('summary', { 'data-keep': 'numbers' }, 'All numbers'),
    tableOf(
      ['Layout', 'Step', 'Memory', ''],
      rows.map(([name = '', ...cells], i) => {
        const place = i - (rows.length - front);
        const preview = { type: 'tryChange', kind: 'front', index: place, how: 'preview' } as const;
        const show = button('Preview', () => actions.send(preview), {
          class: 'link',
          'aria-label': `Preview ${name}`,
        });
        return tableRow(name, [...cells, place >= 0 ? show : '']);
      }),
      { class: 'outcomes' },
    ),
  );
}

function changesElement(scene: Scene): HTMLElement {
  const { tradeoffs: found } = scene;
  const changes = found?.neighbours ?? [];
  const list = h(
    'ul',
    { class: 'changes', 'aria-label': 'One change away' },
    ...changes.map((change, i) => changeElement(scene, change, i)),
  );
  list.addEventListener('keydown', (event) => walk(list, event));
  return h(
    'section',
    { class: 'away' },
    h('h2', {}, 'One change away', ...does(scene, changes)),
    changes.length > 0 ? list : h('p', { class: 'hint' }, NONE),
  );
}

/** What can be done with the change that a person looks at: at one place, so that the list does not move. */
function does({ actions }: Scene, changes: readonly Neighbour[]): HTMLElement[] {
  const index = changes.findIndex((change) => changeTitle(change) === chosen);
  const act = (label: string, how: 'preview' | 'apply') =>
    button(label, () => actions.send({ type: 'tryChange', kind: 'neighbour', index, how }), {
      class: 'link',
      disabled: index < 0,
      'data-keep': how,
    });
  return changes.length > 0 ? [h('span', { class: 'does' }, act('Preview', 'preview'), act('Apply', 'apply'))] : [];
}

const NONE = 'Changes are listed once the layout has a model, a batch and no errors.';

/** Arrow keys walk from change to change. */
function walk(list: HTMLElement, event: KeyboardEvent): void {
  const all = [...list.querySelectorAll<HTMLElement>('.change-row')];
  const at = all.findIndex((row) => row.contains(document.activeElement) || row === document.activeElement);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: Math.min(all.length - 1, at + 1),
    ArrowUp: Math.max(0, at - 1),
    Home: 0,
    End: all.length - 1,
  };
  const to = steps[event.key];
  if (to !== undefined && at >= 0) {
    event.preventDefault();
    if (to !== at) {
      all[to]?.focus();
      all[to]?.click();
    }
  }
}

function changeElement(scene: Scene, change: Neighbour, index: number): HTMLElement {
  const { actions } = scene;
  const title = changeTitle(change);
  const [step, bytes] = figuresOf(change.score, scoreOfAll(scene));
  const isChosen = title === chosen;
  // chosen once it stands in the scatter, chosen again it is shown as a diff
  const choose = () => {
    if (isChosen) {
      actions.send({ type: 'tryChange', kind: 'neighbour', index, how: 'preview' });
    }
    chosen = title;
    actions.change({});
    const { seconds, totalBytes } = change.score;
    const words = `${seconds === null ? 'step not known' : secondsText(seconds)}, ${memory(totalBytes)}`;
    actions.announce(`${title}: ${words}, ${reasonOf(scene, change)}`);
  };
  const row = button(
    [
      h('span', { class: 'change-title' }, title),
      h(
        'span',
        { class: 'number' },
        step?.value ?? '–',
        h('span', { class: `change ${step?.verdict}` }, step?.change ?? ''),
      ),
      h('span', { class: 'reason' }, reasonOf(scene, change)),
      h(
        'span',
        { class: `number ${bytes?.alarm ?? ''}` },
        memory(change.score.totalBytes),
        h('span', { class: `change ${bytes?.verdict}` }, bytes?.change ?? ''),
      ),
    ],
    choose,
    { class: 'change-row', 'data-keep': `change ${title}`, 'aria-pressed': String(isChosen) },
  );
  return h('li', {}, row);
}

/** Why a change is worth a look, or is not: what decides stands before what explains. */
function reasonOf(scene: Scene, { score, reason }: Neighbour): string {
  const [step, bytes] = figuresOf(score, scoreOfAll(scene));
  if (bytes?.alarm === 'over') {
    return 'Does not fit.';
  }
  return step?.verdict === 'same' ? `As quick. ${reason}` : reason;
}
