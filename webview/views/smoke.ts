import { countOf, grouped, rankList } from '../../layout';
import { coordinateLines } from '../../picture/drawing';
import { physicalPlacement } from '../../picture/physical';
import { type FamilyOutcome, OUTCOMES, type SmokeOutcome, smokeHeadline } from '../../picture/smokeOutcome';
import { h, invitation, link, picker, tableOf, tableRow } from '../panel/dom';
import type { Scene, View } from './view';

/** How many groups that did not pass are listed of one kind. */
const MAX_OPEN = 8;

const EMPTY =
  'No smoke job has run for this layout yet. It starts the ranks, makes every process group and moves data through it.';

const COLUMNS = ['Process group', 'Groups', 'Passed', 'No result', 'Failed', 'Slowest', 'Fastest'];

/** All kinds of process groups together. */
const ALL = '';

/** What the last smoke job found: the result of every group and rank, or the bandwidth of one kind of groups. */
export const smoke: View = {
  id: 'smoke',
  label: 'Smoke',
  question: 'Did it work, how fast?',
  pickers,
  headline: ({ layout, results }) => smokeHeadline(layout, results),
  picture: ({ results, state }, layout) => {
    if (!results) {
      return null;
    }
    const name = kindIn(results, state.group, state.measure);
    return {
      place: (space) => physicalPlacement(layout, space),
      describe: (rank) => [...results.describe(rank), ...coordinateLines(layout, rank)],
      colouring: state.measure === 'bandwidth' ? results.bandwidthColouring(name) : results.outcomeColouring(name),
    };
  },
  content: (scene) =>
    scene.results
      ? outcomes(scene, scene.results)
      : invitation(EMPTY, 'Run Smoke Job', () => scene.actions.send({ type: 'runSmokeJob' })),
};

/** The chosen kind of groups; bandwidths are of one kind, since kinds differ. */
function kindIn({ families }: SmokeOutcome, group: string, measure: string): string {
  const known = families.some(({ name }) => name === group);
  return known ? group : measure === 'bandwidth' ? (families[0]?.name ?? '') : ALL;
}

function pickers({ results, state, actions }: Scene): HTMLElement[] {
  if (!results) {
    return [];
  }
  const names = [...new Set(results.families.map(({ name }) => name))];
  const kinds = [...(state.measure === 'result' ? [{ value: ALL, label: 'all' }] : []), ...names];
  return [
    picker<Scene['state']['measure']>('Show', ['result', 'bandwidth'], state.measure, (measure) =>
      actions.change({ measure }),
    ),
    picker('Process group', kinds, kindIn(results, state.group, state.measure), (group) => actions.change({ group })),
  ];
}

function outcomes(scene: Scene, results: SmokeOutcome): HTMLElement {
  const all = results.outcomes();
  const suspects = [...results.suspects];
  const isRunning = results.message.running !== undefined;
  const find = link('Show them', () => scene.actions.light(suspects, 'ranks that the fault names'), 'suspects');
  const body = all
    .sort(byTrouble)
    .flatMap((outcome) => rows(scene, results, isRunning ? { ...outcome, open: [] } : outcome));
  return h(
    'div',
    { class: 'below' },
    ...(suspects.length > 0 ? [h('p', {}, `At fault: ${rankList(suspects)} `, find)] : []),
    tableOf(COLUMNS, body, { class: 'outcomes' }),
  );
}

const byTrouble = (a: FamilyOutcome, b: FamilyOutcome): number => b.failed - a.failed || b.missing - a.missing;

function rows(scene: Scene, results: SmokeOutcome, outcome: FamilyOutcome): HTMLElement[] {
  const { family, passed, missing, failed, open, slowest, fastest } = outcome;
  const title = family.module === null ? family.name : `${family.name} of ${family.module}`;
  const colour = link(title, () => scene.actions.change({ group: family.name }), `family ${title}`);
  const light = (index: number, label: string) => {
    const highlight = () => scene.actions.light(family.ranks(index), `${family.name} group ${index}`);
    return link(label, highlight, `group ${title} ${index}`);
  };
  const gbs = (value: number | null) => (value === null ? '' : `${value.toPrecision(3)} GB/s`);
  const slow =
    slowest && fastest !== null && slowest.busGBs < fastest
      ? light(slowest.index, gbs(slowest.busGBs))
      : gbs(slowest?.busGBs ?? null);
  const some = (count: number) => (count > 0 ? grouped(count) : '');
  const main = tableRow(colour, [
    grouped(family.count),
    grouped(passed),
    some(missing),
    h('span', { class: 'error' }, some(failed)),
    slow,
    gbs(fastest),
  ]);
  const listed = open.slice(0, MAX_OPEN).map((index) => {
    const { label } = OUTCOMES[results.outcomeOf(family, index)] ?? { label: '' };
    return h('li', {}, light(index, `group ${index}`), ` ${label}: ranks ${rankList(family.ranks(index))}`);
  });
  const more =
    open.length > listed.length ? [h('li', {}, `and ${countOf(open.length - listed.length, 'more group')}`)] : [];
  const detail = h(
    'tr',
    {},
    h('td', { colspan: String(COLUMNS.length) }, h('ul', { class: 'open' }, ...listed, ...more)),
  );
  return listed.length > 0 ? [main, detail] : [main];
}
