import { countOf, grouped, type ResolvedModule } from '../../layout';
import { subject } from '../../picture/headline';
import { coordinatesOf, modulesOf, placeOf } from '../../picture/rankDetails';
import { hasRoles, roleColouring } from '../../picture/roles';
import { button, h, link, picker, tableOf, tableRow } from '../panel/dom';
import type { Scene, View } from './view';

/** How many ranks one page of the table has. */
const PAGE = 100;

/** All ranks as a table, page by page: the equivalent of the picture for screen readers. */
export const table: View = {
  id: 'table',
  label: 'Table',
  question: 'What are the numbers?',
  headline: ({ layout }) => ({ title: `${countOf(layout.worldSize, 'rank')}, one a row.`, sub: subject(layout) }),
  content: rankTable,
};

/** The rows and the page that are shown, while the panel is open. */
let shown = 'all';
let page = 0;
let chosen = -1;

interface Rows {
  readonly count: number;
  rankAt(index: number): number;
  indexOf(rank: number): number;
}

function rowsOf({ layout, failed, difference, results }: Scene): { id: string; label: string; rows: Rows }[] {
  const list = (ranks: readonly number[]): Rows => ({
    count: ranks.length,
    rankAt: (i) => ranks[i] ?? 0,
    indexOf: (rank) => ranks.indexOf(rank),
  });
  const all = { count: layout.worldSize, rankAt: (i: number) => i, indexOf: (rank: number) => rank };
  return [
    { id: 'all', label: 'all ranks', rows: all },
    ...(failed.length > 0 ? [{ id: 'failed', label: 'failed ranks', rows: list(failed) }] : []),
    ...(results?.suspects.size ? [{ id: 'suspects', label: 'ranks at fault', rows: list([...results.suspects]) }] : []),
    ...(difference ? [{ id: 'differs', label: 'ranks that differ', rows: list(difference.ranks) }] : []),
  ];
}

function rankTable(scene: Scene): HTMLElement {
  const { state, actions } = scene;
  const choices = rowsOf(scene);
  const choice = choices.find(({ id }) => id === shown) ?? choices[0];
  const rows = choice?.rows ?? { count: 0, rankAt: () => 0, indexOf: () => -1 };
  if (state.rank !== chosen) {
    chosen = state.rank;
    const at = chosen < 0 ? -1 : rows.indexOf(chosen);
    page = at < 0 ? page : Math.floor(at / PAGE);
  }
  const pages = Math.max(1, Math.ceil(rows.count / PAGE));
  page = Math.min(page, pages - 1);
  const first = page * PAGE;
  const count = Math.min(PAGE, rows.count - first);
  const turn = (label: string, to: number) =>
    button(
      label,
      () => {
        page = Math.max(0, Math.min(pages - 1, to));
        actions.change({});
      },
      { 'data-keep': `page ${label}`, class: 'secondary', disabled: to < 0 || to >= pages },
    );
  const position = `${grouped(first + 1)} to ${grouped(first + count)} of ${grouped(rows.count)}`;
  const options = choices.map(({ id, label }) => ({ value: id, label }));
  const filter = picker('Rows', options, choice?.id ?? 'all', (id) => {
    shown = id;
    page = 0;
    actions.change({});
  });
  const pager = [
    turn('First', 0),
    turn('Previous', page - 1),
    h('span', { role: 'status' }, position),
    turn('Next', page + 1),
    turn('Last', pages - 1),
  ];
  const columns = columnsOf(scene);
  const body = Array.from({ length: count }, (_, i) => row(scene, rows.rankAt(first + i), columns));
  return h(
    'div',
    { class: 'table' },
    h('div', { class: 'pager' }, ...(choices.length > 1 ? [filter] : []), ...(pages > 1 ? pager : [])),
    tableOf(['Rank', ...columns.map(({ title }) => title), ''], body),
  );
}

/** A column after the rank's number. */
interface Column {
  readonly title: string;
  readonly text: (rank: number) => string;
}

/** The columns that have something to say. */
function columnsOf(scene: Scene): readonly Column[] {
  const { layout, failed, difference, results, run } = scene;
  const all = (rank: number, say: (module: ResolvedModule) => string, between: string) =>
    modulesOf(layout, rank).map(say).join(between);
  const isNamed = layout.modules.some(({ name }) => name !== null);
  const hasConditions = failed.length > 0 || hasRoles(layout) || (difference ?? results ?? run) !== null;
  return [
    { title: 'Place', text: (rank) => placeOf(layout, rank) },
    ...(isNamed ? [{ title: 'Module', text: (rank: number) => all(rank, ({ name }) => name ?? '', ', ') }] : []),
    {
      title: 'Coordinates',
      text: (rank) => all(rank, (module) => coordinatesOf(layout, module, rank).join(', '), '; '),
    },
    ...(hasConditions ? [{ title: 'Condition', text: conditionsOf(scene) }] : []),
  ];
}

/** The conditions of a rank: failed, its role, results of jobs and runs, differences. */
function conditionsOf({ layout, failed, difference, results, run }: Scene): (rank: number) => string {
  const roles = hasRoles(layout) ? roleColouring(layout) : null;
  const marked = new Set(failed);
  const outcomes = results?.outcomeColouring('');
  const standing = run?.colouring;
  return (rank) =>
    [
      marked.has(rank) ? 'failed' : roles && roles.valueOf(rank) > 0 ? roles.label(roles.valueOf(rank)) : '',
      outcomes && outcomes.valueOf(rank) >= 0 ? `smoke job ${outcomes.label(outcomes.valueOf(rank))}` : '',
      standing ? standing.label(standing.valueOf(rank)) : '',
      difference && difference.changeOf(rank) !== 'same' ? `${difference.changeOf(rank)} differ` : '',
    ]
      .filter(Boolean)
      .join(', ');
}

function row({ state, actions }: Scene, rank: number, columns: readonly Column[]): HTMLElement {
  const label = state.failed.includes(rank) ? 'Not failed' : 'Mark as failed';
  const named = { 'aria-label': `${label}: rank ${rank}` };
  const fail = link(label, () => actions.toggleFailed(rank), `fail ${rank}`, named);
  const choose = link(grouped(rank), () => actions.choose(rank), `rank ${rank}`);
  const current = rank === state.rank ? { 'aria-current': 'true' } : {};
  return tableRow(choose, [...columns.map(({ text }) => text(rank)), fail], current);
}
