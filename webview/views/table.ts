import { countOf, grouped, type ResolvedModule } from '../../layout';
import { findRanks, type Matches } from '../../picture/find';
import { subject } from '../../picture/headline';
import { modulesOf } from '../../picture/rankDetails';
import { hasRoles, roleColouring } from '../../picture/roles';
import { dimensionsOf, MAX_ORDERED, ordered } from '../../picture/table';
import { button, h, link, type Option, picker, tableOf, tableRow } from '../panel/dom';
import { conditionsOf, type Scene, type View } from './view';

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

/** The title of the first column. */
const RANK = 'Rank';

/** The rows, their order and the page that are shown, while the panel is open. */
let shown = 'all';
let page = 0;
let chosen = -1;
let filter = '';
let sorting: { readonly column: string; readonly descending: boolean } = { column: RANK, descending: false };
/** The order that was worked out last, with what it was worked out of. */
let lastOrder: { readonly of: readonly unknown[]; readonly rows: Rows } | null = null;

const list = (ranks: ArrayLike<number> & { indexOf(rank: number): number }): Rows => ({
  count: ranks.length,
  rankAt: (i) => ranks[i] ?? 0,
  indexOf: (rank) => ranks.indexOf(rank),
});

interface Rows extends Matches {
  indexOf(rank: number): number;
}

function choicesOf({ layout, failed, difference, results }: Scene): (Option & { rows: Rows })[] {
  const all = { count: layout.worldSize, rankAt: (i: number) => i, indexOf: (rank: number) => rank };
  return [
    { value: 'all', label: 'all ranks', rows: all },
    ...(failed.length > 0 ? [{ value: 'failed', label: 'failed ranks', rows: list(failed) }] : []),
    ...(results?.suspects.size
      ? [{ value: 'suspects', label: 'ranks at fault', rows: list([...results.suspects]) }]
      : []),
    ...(difference ? [{ value: 'differs', label: 'ranks that differ', rows: list(difference.ranks) }] : []),
  ];
}

/** The rows that are shown, in their order, or why the filter gives none. */
function rowsOf(scene: Scene, all: Rows, columns: readonly Column[]): Rows | string {
  const { layout, failed, difference, results } = scene;
  const { column, descending } = sorting;
  const numberOf = columns.find(({ title }) => title === column)?.numberOf;
  const isOrdered = numberOf !== undefined && (column !== RANK || descending);
  const of = [layout, shown, all.count, failed, difference, results, filter, column, descending];
  if (lastOrder?.of.every((one, i) => one === of[i])) {
    return lastOrder.rows;
  }
  const found = filter.trim() === '' ? null : findRanks(layout, filter, conditionsOf(scene));
  if (found && 'problem' in found) {
    return found.problem;
  }
  if ((!found && !isOrdered) || layout.worldSize > MAX_ORDERED) {
    return all;
  }
  const ranks = Int32Array.from({ length: all.count }, (_, i) => all.rankAt(i));
  const wanted = found && new Set(Array.from({ length: found.count }, (_, i) => found.rankAt(i)));
  const kept = wanted ? ranks.filter((rank) => wanted.has(rank)) : ranks;
  const rows = list(isOrdered ? ordered(kept, numberOf, descending) : kept);
  lastOrder = { of, rows };
  return rows;
}

function rankTable(scene: Scene): HTMLElement {
  const { state, actions, layout } = scene;
  const choices = choicesOf(scene);
  const choice = choices.find(({ value }) => value === shown) ?? choices[0];
  const columns = columnsOf(scene);
  const found = rowsOf(scene, choice?.rows ?? list([]), columns);
  const rows = typeof found === 'string' ? list([]) : found;
  if (state.rank !== chosen) {
    chosen = state.rank;
    const at = chosen < 0 ? -1 : rows.indexOf(chosen);
    page = at < 0 ? page : Math.floor(at / PAGE);
  }
  const pages = Math.max(1, Math.ceil(rows.count / PAGE));
  page = Math.min(page, pages - 1);
  const first = page * PAGE;
  const count = Math.min(PAGE, rows.count - first);
  const show = (change: () => void) => () => {
    change();
    page = 0;
    actions.change({});
  };
  const turn = (label: string, to: number) =>
    button(
      label,
      () => {
        page = Math.max(0, Math.min(pages - 1, to));
        actions.change({});
      },
      { 'data-keep': `page ${label}`, class: 'secondary', disabled: to < 0 || to >= pages },
    );
  const position =
    typeof found === 'string' ? found : `${grouped(first + 1)} to ${grouped(first + count)} of ${grouped(rows.count)}`;
  const subset = picker('Rows', choices, choice?.value ?? 'all', (id) => show(() => (shown = id))());
  const canOrder = layout.worldSize <= MAX_ORDERED;
  const body = Array.from({ length: count }, (_, i) => row(scene, rows.rankAt(first + i), columns));
  return h(
    'div',
    { class: 'table' },
    h(
      'div',
      { class: 'pager' },
      ...(choices.length > 1 ? [subset] : []),
      ...(canOrder ? [filterBox((text) => show(() => (filter = text))())] : []),
      h(
        'span',
        { class: 'turns' },
        ...(pages > 1 ? [turn('First', 0), turn('Previous', page - 1)] : []),
        h('span', { role: 'status' }, position),
        ...(pages > 1 ? [turn('Next', page + 1), turn('Last', pages - 1)] : []),
      ),
    ),
    tableOf(
      [...columns.map(({ title, numberOf }) => headOf(title, canOrder && numberOf !== undefined, show)), ''],
      body,
    ),
  );
}

/** What keeps rows, in the words of the search box; it is applied when Enter is pressed or the box is left. */
function filterBox(apply: (text: string) => void): HTMLElement {
  const box = h('input', {
    type: 'text',
    value: filter,
    placeholder: 'Filter: tp=0 dp=1, node 3',
    'aria-label': 'Filter ranks',
    'data-keep': 'filter rows',
  });
  box.addEventListener('change', () => apply(box.value));
  return box;
}

/** The head of a column; a click puts the rows in its order, and another one turns that round. */
function headOf(title: string, canOrder: boolean, show: (change: () => void) => () => void): HTMLTableCellElement {
  const isOrder = sorting.column === title;
  const order = () => {
    sorting = { column: title, descending: isOrder && !sorting.descending };
  };
  const arrow = isOrder ? (sorting.descending ? ' ▼' : ' ▲') : '';
  const sorted = isOrder && canOrder ? { 'aria-sort': sorting.descending ? 'descending' : 'ascending' } : {};
  return h(
    'th',
    { scope: 'col', ...sorted },
    canOrder ? button(title + arrow, show(order), { class: 'order', 'data-keep': `order ${title}` }) : title,
  );
}

/** A column; the first one has the numbers of ranks. */
interface Column {
  readonly title: string;
  readonly text: (rank: number) => string;
  /** What its rows are ordered by; left out where they have no order. */
  readonly numberOf?: (rank: number) => number;
}

/** The columns that have something to say: the rank, its place, a column a dimension, the condition. */
function columnsOf(scene: Scene): readonly Column[] {
  const { layout, failed, difference, results, run } = scene;
  const { gpusPerNode, modules } = layout;
  const all = (rank: number, say: (module: ResolvedModule) => string) => modulesOf(layout, rank).map(say).join('; ');
  const hasConditions = failed.length > 0 || hasRoles(layout) || (difference ?? results ?? run) !== null;
  const plain = (title: string, numberOf: (rank: number) => number): Column => ({
    title,
    text: (rank) => grouped(numberOf(rank)),
    numberOf,
  });
  const dimensions = dimensionsOf(layout).filter(({ size }) => size > 1);
  // without experts to spread, their grid says the same as the dense one
  const hasExperts = dimensions.some(({ name }) => name === 'ep');
  return [
    plain(RANK, (rank) => rank),
    ...(layout.worldSize > gpusPerNode ? [plain('node', (rank) => Math.floor(rank / gpusPerNode))] : []),
    plain('GPU', (rank) => rank % gpusPerNode),
    ...(modules.some(({ name }) => name !== null)
      ? [
          {
            title: 'module',
            text: (rank: number) => all(rank, ({ name }) => name ?? ''),
            numberOf: (rank: number) => modules.findIndex((module) => modulesOf(layout, rank).includes(module)),
          },
        ]
      : []),
    ...dimensions
      .filter(({ ofExperts }) => hasExperts || !ofExperts)
      .map(
        ({ name, indexOf }): Column => ({
          title: name,
          text: (rank) => all(rank, (module) => String(indexOf(module, rank) ?? '')),
          numberOf: (rank) => {
            const [module] = modulesOf(layout, rank);
            return (module && indexOf(module, rank)) ?? -1;
          },
        }),
      ),
    ...(hasConditions ? [{ title: 'Condition', text: conditionText(scene) }] : []),
  ];
}

/** The conditions of a rank: failed, its role, results of jobs and runs, differences. */
function conditionText({ layout, failed, difference, results, run }: Scene): (rank: number) => string {
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

function row({ state, actions }: Scene, rank: number, [, ...columns]: readonly Column[]): HTMLElement {
  const label = state.failed.includes(rank) ? 'Not failed' : 'Mark as failed';
  const named = { 'aria-label': `${label}: rank ${rank}` };
  const fail = link(label, () => actions.toggleFailed(rank), `fail ${rank}`, named);
  const choose = link(grouped(rank), () => actions.choose(rank), `rank ${rank}`);
  const current = rank === state.rank ? { 'aria-current': 'true' } : {};
  return tableRow(choose, [...columns.map(({ text }) => text(rank)), fail], current);
}
