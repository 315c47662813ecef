import { type Cost, costHeadline, memory, totalOf } from '../../picture/cost';
import { costDiagram } from '../../picture/costDiagram';
import { traffic } from '../../picture/flows';
import { h } from '../panel/dom';
import { diagramElement } from '../render/diagram';
import type { View } from './view';

/** So many rows of numbers stand under the diagram. */
const MAX_ROWS = 256;

/** What a layout needs and sends, as the engine estimates it. */
export const cost: View = {
  id: 'cost',
  label: 'Cost',
  question: 'Does it fit, what travels?',
  headline: ({ layout, cost }) => costHeadline(layout, cost),
  diagram: ({ cost }, width) => costDiagram(cost, width),
  content: ({ layout, cost, width }) =>
    h(
      'div',
      { class: 'sheet diagram-sheet' },
      diagramElement(costDiagram(cost, width), costHeadline(layout, cost).title),
      ...(cost.cost ? [numbers(cost.cost)] : []),
    ),
};

/** The numbers of the diagram as tables. */
function numbers({ stages, flows }: Cost): HTMLElement {
  return h(
    'details',
    { class: 'numbers', 'data-keep': 'numbers' },
    h('summary', { 'data-keep': 'numbers summary' }, 'All numbers'),
    tableOf(
      ['Stage', 'States', 'Activations', 'Communicators', 'Together', 'Nine in ten within'],
      stages
        .slice(0, MAX_ROWS)
        .map((stage) => [
          stage.name,
          memory(stage.states),
          memory(stage.activations),
          memory(stage.communicators),
          memory(totalOf(stage)),
          `${memory(stage.low)} – ${memory(stage.high)}`,
        ]),
    ),
    tableOf(
      ['Process group', 'Carries', 'A step and rank', 'Over'],
      flows
        .slice(0, MAX_ROWS)
        .map(({ group, carries, bytes, tier }) => [
          group,
          carries,
          traffic(bytes),
          tier === 'nvlink' ? 'NVLink' : 'network',
        ]),
    ),
  );
}

function tableOf(columns: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  const head = h('tr', {}, ...columns.map((text) => h('th', { scope: 'col' }, text)));
  const body = rows.map(([name = '', ...cells]) =>
    h('tr', {}, h('th', { scope: 'row' }, name), ...cells.map((text) => h('td', {}, text))),
  );
  return h('table', { class: 'outcomes' }, h('thead', {}, head), h('tbody', {}, ...body));
}
