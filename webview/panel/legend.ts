import { type Legend, type LegendItem, SIGN_TEXT } from '../../picture/legend';
import { h } from './dom';

/** A legend beside the picture. */
export const legendElements = ({ name, items }: Legend): HTMLElement[] => [
  h('span', { class: 'what' }, name),
  ...items.map(itemElement),
];

function itemElement(item: LegendItem): HTMLElement {
  switch (item.kind) {
    case 'fill': {
      const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true' }, SIGN_TEXT[item.sign]);
      swatch.style.backgroundColor = item.fill;
      return h('span', { class: 'item' }, swatch, item.text);
    }
    case 'ramp': {
      const ramp = h('span', { class: 'ramp', 'aria-hidden': 'true' });
      ramp.style.backgroundImage = `linear-gradient(to right, ${item.fills.join(', ')})`;
      return h('span', { class: 'item' }, item.from, ramp, item.to);
    }
    case 'mark':
      return h('span', { class: 'item' }, h('span', { class: `mark ${item.mark}`, 'aria-hidden': 'true' }), item.text);
    case 'note':
      return h('span', { class: 'item hint' }, item.text);
  }
}
