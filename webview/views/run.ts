import { grouped } from '../../layout';
import { coordinateLines } from '../../picture/drawing';
import { subject } from '../../picture/headline';
import { physicalPlacement } from '../../picture/physical';
import { ROLES, type RunOutcome, stackCommand } from '../../picture/runOutcome';
import { h, invitation, link, picker } from '../panel/dom';
import type { Scene, View } from './view';
import { withCode } from './world';

/** So many reasons are given, and so many files named that were not read whole. */
const MAX_REASONS = 12;
const MAX_FILES = 5;

/** Which ranks hang a run, or slow it, by the report of `parallelism-layout verify`. */
export const run: View = {
  id: 'run',
  label: 'Run',
  question: 'Who hangs it, who is slow?',
  pickers,
  headline: ({ layout, run }) =>
    run?.headline(layout) ?? { title: 'No run has been looked at for this layout yet.', sub: subject(layout) },
  picture: ({ run, state }, layout) => {
    if (!run) {
      return null;
    }
    const part = run.partIn(state.part);
    const times = part === null ? null : run.partColouring(part);
    const timeOf = (rank: number) => (times && times.valueOf(rank) >= 0 ? [times.label(times.valueOf(rank))] : []);
    return {
      place: (space) => physicalPlacement(layout, space),
      colouring: times ?? run.colouring,
      describe: (rank) => [...(times ? timeOf(rank) : run.describe(rank)), ...coordinateLines(layout, rank)],
    };
  },
  content: (scene) => (scene.run ? reasons(scene, scene.run) : empty(scene)),
};

/** What colours the ranks, where a log tells the times of each. */
function pickers({ run, state, actions }: Scene): HTMLElement[] {
  const parts = run?.parts ?? [];
  const options = [{ value: ROLES, label: 'who hangs it' }, ...parts];
  return run && parts.length > 0
    ? [picker('Show', options, run.partIn(state.part) ?? ROLES, (part) => actions.change({ part }))]
    : [];
}

const EMPTY =
  'Flight Recorder dumps, NCCL RAS answers and logs tell which rank keeps the others waiting, and which one is slow. Drop their folder here.';

/** Verifies the layout against a run that the editor asks for. */
const VERIFY = { type: 'verifyRun', addresses: [] } as const;

function empty({ actions }: Scene): HTMLElement {
  const command = h('code', {}, 'parallelism-layout verify LAYOUT DUMPS... --format json > run.json');
  const other = link('Open Its Result', () => actions.send({ type: 'openRun' }), 'open run');
  const hint = h('p', {}, 'Where the files cannot come here: ', command, ' ', other);
  return invitation(EMPTY, 'Verify Against Run...', () => actions.send(VERIFY), hint);
}

function reasons(scene: Scene, run: RunOutcome): HTMLElement {
  const { actions } = scene;
  const { report, culprits } = run;
  const ranks = culprits.size > 0 ? [...culprits] : [...new Set(report.slow?.map(({ rank }) => rank))];
  const slow = (report.slow ?? []).flatMap(({ rank, because }) => [
    h('li', {}, h('strong', {}, `Rank ${grouped(rank)}`), ' · ', ...withCode(because)),
  ]);
  const why = report.why.map((text) => h('li', {}, ...withCode(text)));
  const files = (report.sources ?? []).filter(({ ok }) => !ok).slice(0, MAX_FILES);
  const incomplete = files.map(({ file, note }) => h('li', {}, `Not read whole: ${nameOf(file)}: ${note}`));
  return h(
    'div',
    { class: 'below' },
    h(
      'ul',
      {},
      ...[...report.culprits.flatMap((one) => culpritLines(scene, one)), ...slow, ...why].slice(0, MAX_REASONS),
    ),
    ...(run.read === '' ? [] : [h('p', { class: 'hint' }, run.read)]),
    ...(incomplete.length > 0 ? [h('ul', {}, ...incomplete)] : []),
    h(
      'p',
      { class: 'actions' },
      ...(ranks.length > 0
        ? [link('Show them', () => actions.light(ranks, culprits.size > 0 ? 'culprits' : 'slow ranks'), 'culprits')]
        : []),
      link('Verify against another run', () => actions.send(VERIFY), 'verify run'),
      link('Open another result', () => actions.send({ type: 'openRun' }), 'open run'),
    ),
  );
}

/** A rank at fault: where it runs, how to look there, and why it is at fault. */
function culpritLines({ actions }: Scene, culprit: RunOutcome['report']['culprits'][number]): HTMLElement[] {
  const { rank, confidence, because, host, gpu, pid } = culprit;
  const command = stackCommand(culprit);
  const place = [
    ...(host ? [`host ${host}`] : []),
    ...(gpu === null || gpu === undefined ? [] : [`GPU ${gpu}`]),
    ...(pid === null || pid === undefined ? [] : [`pid ${pid}`]),
    `confidence ${Math.round(100 * confidence)} %`,
  ];
  const look = command
    ? [
        h(
          'li',
          {},
          'Where it stands: ',
          h('code', {}, command),
          ' ',
          link('Copy', () => actions.copy(command, 'command'), `stack ${rank}`, { 'aria-label': `Copy ${command}` }),
        ),
      ]
    : [];
  return [
    h('li', {}, h('strong', {}, `Rank ${grouped(rank)}`), ` · ${place.join(' · ')}`),
    ...look,
    ...because.map((text) => h('li', {}, ...withCode(text))),
  ];
}

const nameOf = (file: string): string => file.split(/[\\/]/).at(-1) ?? file;
