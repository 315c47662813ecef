import { type Cost, costHeadline, memory } from '../../picture/cost';
import { type CostBase, costDiagram } from '../../picture/costDiagram';
import { traffic } from '../../picture/flows';
import { h, tableOf, tableRow } from '../panel/dom';
import { diagramElement } from '../render/diagram';
import type { Scene, View } from './view';

/** So many rows of numbers stand under the diagram. */
const MAX_ROWS = 256;

/** What a layout needs and sends, as the engine estimates it. */
export const cost: View = {
  id: 'cost',
  label: 'Cost',
  question: 'Does it fit, what travels?',
  headline: ({ layout, cost }) => costHeadline(layout, cost),
  diagram: (scene, width) => costDiagram(scene.cost, width, baseOf(scene)),
  content: (scene) => {
    const { layout, cost, width } = scene;
    return h(
      'div',
      { class: 'sheet diagram-sheet' },
      diagramElement(costDiagram(cost, width, baseOf(scene)), costHeadline(layout, cost).title),
      ...(cost.cost ? [numbers(cost.cost)] : []),
    );
  },
};

const baseOf = ({ base }: Scene): CostBase | null => (base?.cost ? { title: base.title, cost: base.cost } : null);

const MEMORY_COLUMNS = ['Stage', 'States', 'Activations', 'Communicators', 'Together', 'Nine in ten within'];
const FLOW_COLUMNS = ['Process group', 'Carries', 'A step and rank', 'Over'];

/** The numbers of the diagram as tables. */
function numbers({ stages, flows }: Cost): HTMLElement {
  const memoryRows = stages.slice(0, MAX_ROWS).map((stage) => {
    const { name, statesBytes, activationsBytes, communicatorsBytes, totalBytes, totalInterval } = stage;
    const parts = [statesBytes, activationsBytes, communicatorsBytes, totalBytes].map(memory);
    return tableRow(name, [...parts, totalInterval.map(memory).join(' – ')]);
  });
  const flowRows = flows
    .slice(0, MAX_ROWS)
    .map(({ group, carries, bytes, tier }) =>
      tableRow(group, [carries, traffic(bytes), tier === 'nvlink' ? 'NVLink' : 'network']),
    );
  const attributes = { class: 'outcomes' };
  return h(
    'details',
    { class: 'numbers' },
    h('summary', { 'data-keep': 'numbers' }, 'All numbers'),
    tableOf(MEMORY_COLUMNS, memoryRows, attributes),
    tableOf(FLOW_COLUMNS, flowRows, attributes),
  );
}
