import {
  batchChange,
  countOf,
  dataPart,
  failurePlan,
  grouped,
  type Recovery,
  type Resized,
  type Resizing,
  rankList,
  secondsText,
} from '../../layout';
import { alternativeName } from '../../layout/cost';
import type { Scene } from '../views/view';
import { costList, keptLines } from './checkpointCard';
import { button, h, link } from './dom';

/** The ways to go on without the marked ranks, each with what it costs and a button that writes it into the file; nothing where none is marked. */
export function failureCard(scene: Scene): HTMLElement[] {
  const { layout, failed, state, recoveries, actions } = scene;
  if (state.failed.length === 0) {
    return [];
  }
  const plan = failurePlan(layout, failed);
  const clear = () => actions.change({ failed: [] });
  const write = () => actions.send({ type: 'writeFailed', ranks: failed });
  const told = recoveries?.ranks.join() === failed.join() ? recoveries : null;
  return [
    h(
      'section',
      { class: 'card', 'aria-label': 'Failed ranks' },
      h('h2', {}, countOf(failed.length, 'failed rank')),
      h('p', { class: 'place' }, rankList(failed), ' ', link('Clear', clear, 'clear')),
      ...keptWords(told?.recoveries ?? []),
      ...(plan ? withSpareSlots(layout.worldSize, plan, write) : []),
      ...(told?.recoveries ?? []).flatMap((recovery) => wayOn(scene, recovery)),
      ...(plan ? [] : [h('h3', {}, 'Nonuniform TP'), h('p', { class: 'hint' }, why)]),
      ...(told ? otherLayouts(scene, told.resizing) : []),
    ),
  ];
}

/** What each way keeps, in one sentence. */
function keptWords(recoveries: readonly Recovery[]): HTMLElement[] {
  const ways = recoveries.flatMap(({ title, costs: [kept], closed }) =>
    closed === null && kept ? [`${kept[1]} with ${title}`] : [],
  );
  return ways.length > 0 ? [h('p', {}, `Compute kept: ${ways.join(', ')}.`)] : [];
}

const why = 'It needs one grid without pipeline stages, and a healthy first slot in every TP group.';

/** Spares, active TP, idle GPUs, and the remaining share of compute. */
function withSpareSlots(
  world: number,
  { tpBase, tpSpares, reducedReplicas, idleRanks, droppedRanks }: NonNullable<ReturnType<typeof failurePlan>>,
  write: () => void,
): HTMLElement[] {
  const replicas = reducedReplicas === 1 ? 'replica dp 0' : `replicas dp 0 to ${reducedReplicas - 1}`;
  const share = (100 * (world - idleRanks)) / world;
  const advice =
    idleRanks > droppedRanks
      ? 'Data-parallel groups are not rebuilt, so only the last slots can go, in every replica up to the last one hit: replicas out keep more.'
      : 'Data-parallel groups are not rebuilt, so only the last slots can go.';
  return [
    h('h3', {}, 'Nonuniform TP'),
    costList([
      ['Spares', `${tpSpares} of ${tpBase} slots`],
      ['Active TP', `${tpBase - tpSpares} in ${replicas}`],
      ['GPUs that stop', grouped(idleRanks)],
      ['Compute kept', `${share.toFixed(idleRanks === 0 ? 0 : 1)} %`],
    ]),
    h('p', { class: 'hint' }, advice),
    h('p', { class: 'actions' }, button('Write to file', write, { class: 'primary', 'data-keep': 'write' })),
  ];
}

/** Another way on, or why it is closed. */
function wayOn({ actions, failed }: Scene, { way, title, costs, text, closed }: Recovery): HTMLElement[] {
  const write = () => actions.send({ type: 'writeRecovery', way, ranks: failed });
  return [
    h('h3', {}, title),
    ...(closed === null ? [costList(costs)] : [h('p', { class: 'hint' }, closed)]),
    ...(text === null
      ? []
      : [
          h(
            'p',
            { class: 'actions' },
            button('Write to file', write, {
              class: 'primary',
              'data-keep': `write ${way}`,
              'aria-label': `Write to file: ${title}`,
            }),
          ),
        ]),
  ];
}

/** The layouts of the job on the nodes that are left, the quickest first. */
function otherLayouts(scene: Scene, resizing: Resizing | null): HTMLElement[] {
  const left = resizing?.ok ? `Other layouts on ${countOf(resizing.available, 'GPU')}` : 'Other layouts';
  const none = !resizing
    ? 'Looking for layouts on the nodes that are left…'
    : !resizing.ok
      ? `None: ${resizing.reason}.`
      : resizing.layouts.length === 0
        ? 'None of this model fits.'
        : null;
  return [
    h('h3', {}, left),
    ...(none === null ? [] : [h('p', { class: 'hint', role: 'status' }, none)]),
    ...(resizing?.ok ? resizing.layouts.flatMap((one, index) => resized(scene, resizing, one, index)) : []),
  ];
}

type Known = Extract<Resizing, { ok: true }>;

/** One of them: what it costs, what the batch becomes, what it keeps of the checkpoint, and what can be done with it. */
function resized({ actions }: Scene, resizing: Known, one: Resized, index: number): HTMLElement[] {
  const { present, globalBatch } = resizing;
  const { planned, idle, checkpoint } = one;
  const change = batchChange(resizing, one);
  const batch = change ?? `stays ${grouped(globalBatch ?? 0)}`;
  const name = alternativeName(planned);
  const was = present && present.microbatches !== planned.microbatches ? `${grouped(present.microbatches)} → ` : '';
  const micro = `${was}${countOf(planned.microbatches, 'micro-batch')} of ${planned.micro}`;
  const choice = (label: string, how: 'preview' | 'apply' | 'patch', kind: string) =>
    button(label, () => actions.send({ type: 'tryChange', kind: 'resized', index, how }), {
      class: kind,
      'data-keep': `${how} resized ${index}`,
      'aria-label': `${label}: ${name}`,
    });
  return [
    h('h4', {}, name),
    costList([
      ['Step, by estimate', secondsText(planned.seconds)],
      ['GPUs', `${grouped(planned.gpus)}${idle > 0 ? `, ${grouped(idle)} idle` : ''}`],
      ...(globalBatch === null ? [] : [['Batch', `${batch}: ${micro}`] as const]),
    ]),
    // what another batch means is the same for all that have one
    ...(one === resizing.layouts.find((other) => batchChange(resizing, other) !== null)
      ? [h('p', { class: 'hint' }, dataPart(one)?.because ?? '')]
      : []),
    ...keptLines(checkpoint, actions),
    h(
      'p',
      { class: 'actions' },
      choice('Preview', 'preview', 'secondary'),
      choice('Launch files', 'patch', 'secondary'),
      choice('Write to file', 'apply', 'primary'),
    ),
  ];
}
