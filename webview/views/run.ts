import { grouped } from '../../layout';
import { coordinateLines } from '../../picture/drawing';
import { subject } from '../../picture/headline';
import { physicalPlacement } from '../../picture/physical';
import type { RunOutcome } from '../../picture/runOutcome';
import { h, invitation, link } from '../panel/dom';
import type { Scene, View } from './view';
import { withCode } from './world';

/** So many reasons are given. */
const MAX_REASONS = 12;

/** Which ranks hang a run, by the report of `parallelism-layout verify`. */
export const run: View = {
  id: 'run',
  label: 'Run',
  question: 'Who hangs it?',
  headline: ({ layout, run }) =>
    run?.headline(layout) ?? { title: 'No run has been looked at for this layout yet.', sub: subject(layout) },
  picture: ({ run }, layout) =>
    run && {
      place: (space) => physicalPlacement(layout, space),
      colouring: run.colouring,
      describe: (rank) => [...run.describe(rank), ...coordinateLines(layout, rank)],
    },
  content: (scene) => (scene.run ? reasons(scene, scene.run) : empty(scene)),
};

const EMPTY =
  'Flight Recorder dumps, NCCL RAS answers and logs tell which rank keeps the others waiting. Drop their folder here.';

function empty({ actions }: Scene): HTMLElement {
  const command = h('code', {}, 'parallelism-layout verify LAYOUT DUMPS... --format json > run.json');
  const other = link('Open Its Result', actions.openRun, 'open run');
  const hint = h('p', {}, 'Where the files cannot come here: ', command, ' ', other);
  return invitation(EMPTY, 'Verify Against Run...', actions.verifyRun, hint);
}

function reasons({ actions }: Scene, { report, culprits }: RunOutcome): HTMLElement {
  const ranks = [...culprits];
  const because = report.culprits.flatMap(({ rank, because, confidence }) => [
    h('li', {}, h('strong', {}, `Rank ${grouped(rank)}`), ` · confidence ${Math.round(100 * confidence)} %`),
    ...because.map((text) => h('li', {}, ...withCode(text))),
  ]);
  const why = report.why.map((text) => h('li', {}, ...withCode(text)));
  return h(
    'div',
    { class: 'below' },
    h('ul', {}, ...[...because, ...why].slice(0, MAX_REASONS)),
    h(
      'p',
      { class: 'actions' },
      ...(ranks.length > 0 ? [link('Show them', () => actions.light(ranks, 'culprits'), 'culprits')] : []),
      link('Verify against another run', actions.verifyRun, 'verify run'),
      link('Open another result', actions.openRun, 'open run'),
    ),
  );
}
