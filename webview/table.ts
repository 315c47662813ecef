import type { ResolvedLayout } from '../layout';
import { formatted, h } from './dom';
import { coordinatesOf, modulesOf, placeOf } from './facts';

/** How many ranks one page of the table has. */
const PAGE = 200;

/** All ranks as a table, page by page: the equal of the picture for those who do not see it. */
export function rankTable(layout: ResolvedLayout, choose: (rank: number) => void): HTMLElement {
  const body = h('tbody');
  const position = h('span', { role: 'status' });
  const pages = Math.ceil(layout.worldSize / PAGE);
  let page = 0;
  const show = () => {
    const first = page * PAGE;
    const count = Math.min(PAGE, layout.worldSize - first);
    body.replaceChildren(...Array.from({ length: count }, (_, i) => row(layout, first + i, choose)));
    position.textContent = `ranks ${formatted(first)} to ${formatted(first + count - 1)} of ${formatted(layout.worldSize)}`;
  };
  const turn = (label: string, by: number) => {
    const button = h('button', { type: 'button' }, label);
    button.addEventListener('click', () => {
      page = Math.max(0, Math.min(pages - 1, page + by));
      show();
    });
    return button;
  };
  show();
  const head = h(
    'tr',
    {},
    ...['Rank', 'Place', 'Module', 'Coordinates'].map((text) => h('th', { scope: 'col' }, text)),
  );
  const pager = pages > 1 ? [h('div', { class: 'pager' }, turn('Previous', -1), position, turn('Next', 1))] : [];
  return h('div', { class: 'table' }, ...pager, h('table', {}, h('thead', {}, head), body));
}

function row(layout: ResolvedLayout, rank: number, choose: (rank: number) => void): HTMLElement {
  const modules = modulesOf(layout, rank);
  const button = h('button', { type: 'button', class: 'link' }, formatted(rank));
  button.addEventListener('click', () => choose(rank));
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, button),
    h('td', {}, placeOf(layout, rank)),
    h('td', {}, modules.map(({ name }) => name ?? '').join(', ')),
    h('td', {}, modules.map((module) => coordinatesOf(module, rank).join(', ')).join('; ')),
  );
}
