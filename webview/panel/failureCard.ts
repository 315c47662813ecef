import { countOf, failurePlan, grouped } from '../../layout';
import { rankList } from '../../picture/rankDetails';
import type { Scene } from '../views/view';
import { button, h, link } from './dom';

/** What going on without the marked ranks costs, and the button that writes it into the file; nothing where none is marked. */
export function failureCard(
  { layout, failed, state }: Scene,
  write: (ranks: readonly number[]) => void,
  clear: () => void,
): HTMLElement[] {
  if (state.failed.length === 0) {
    return [];
  }
  const plan = failurePlan(layout, failed);
  const actions = [
    ...(plan ? [button('Write to file', () => write(failed), { class: 'primary', 'data-keep': 'write' })] : []),
    link('Clear', clear, 'clear'),
  ];
  return [
    h(
      'section',
      { class: 'card', 'aria-label': 'Failed ranks' },
      h('h2', {}, countOf(failed.length, 'failed rank')),
      h('p', {}, rankList(failed)),
      ...(plan ? costOf(layout.worldSize, plan) : [h('p', {}, why)]),
      h('p', { class: 'actions' }, ...actions),
    ),
  ];
}

const why =
  'Nonuniform TP cannot take these ranks out: it needs one grid without pipeline stages, and a healthy first slot in every TP group.';

/** Spares, active TP, idle GPUs, and the remaining share of compute, compared with dropping the replicas that were hit. */
function costOf(world: number, plan: NonNullable<ReturnType<typeof failurePlan>>): HTMLElement[] {
  const { tpBase, tpSpares, reducedReplicas, idleRanks, droppedRanks } = plan;
  const share = (idle: number) => `${((100 * (world - idle)) / world).toFixed(world - idle === world ? 0 : 1)} %`;
  const replicas = reducedReplicas === 1 ? 'replica dp 0' : `replicas dp 0 to ${reducedReplicas - 1}`;
  const rows: [string, string][] = [
    ['Spares', `${tpSpares} of ${tpBase} slots`],
    ['Active TP', `${tpBase - tpSpares} in ${replicas}`],
    ['GPUs that stop', grouped(idleRanks)],
    ['Compute kept', share(idleRanks)],
    ['… without the hit replicas', share(droppedRanks)],
  ];
  const advice =
    idleRanks > droppedRanks
      ? 'Dropping the replicas that were hit keeps more: data-parallel groups are not rebuilt, so only the last slots can go, in every replica up to the last one hit.'
      : 'Data-parallel groups are not rebuilt, so only the last slots can go.';
  return [
    h('dl', { class: 'cost' }, ...rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h('p', { class: 'hint' }, advice),
  ];
}
