import { countOf, failurePlan, grouped, type Recovery } from '../../layout';
import { rankList } from '../../picture/rankDetails';
import type { Scene } from '../views/view';
import { button, h, link } from './dom';

/** The ways to go on without the marked ranks, each with what it costs and a button that writes it into the file; nothing where none is marked. */
export function failureCard(scene: Scene, write: (ranks: readonly number[]) => void, clear: () => void): HTMLElement[] {
  const { layout, failed, state, recoveries } = scene;
  if (state.failed.length === 0) {
    return [];
  }
  const plan = failurePlan(layout, failed);
  const others = recoveries?.ranks.join() === failed.join() ? recoveries.recoveries : [];
  return [
    h(
      'section',
      { class: 'card', 'aria-label': 'Failed ranks' },
      h('h2', {}, countOf(failed.length, 'failed rank')),
      h('p', {}, rankList(failed), ' ', link('Clear', clear, 'clear')),
      ...(plan ? withSpareSlots(layout.worldSize, plan, () => write(failed)) : []),
      ...others.flatMap((recovery) => wayOn(scene, recovery)),
      ...(plan ? [] : [h('h3', {}, 'Nonuniform TP'), h('p', { class: 'hint' }, why)]),
    ),
  ];
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
function wayOn({ actions }: Scene, { way, title, costs, text, closed }: Recovery): HTMLElement[] {
  const write = () => actions.writeRecovery(way);
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

const costList = (costs: Recovery['costs']): HTMLElement =>
  h('dl', { class: 'cost' }, ...costs.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
