import { xmlText } from '../../layout';
import type { Diagram } from '../../picture/diagram';
import { tag } from '../../picture/paper';
import { shapeSvg } from '../../picture/svg';
import { themed } from './theme';

/**
 * A diagram in the colours of the theme.
 * @param label its text for screen readers
 */
export function diagramElement({ width, height, shapes }: Diagram, label: string): SVGElement {
  const inside = shapes.map((shape) => shapeSvg(shape, themed)).join('');
  const look = { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}` };
  const text = tag('svg', { ...look, role: 'img', 'aria-label': xmlText(label) }, inside);
  // read as XML, nothing of it runs
  const element = new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('svg');
  if (!element) {
    throw new Error('a diagram that is no SVG');
  }
  return document.adoptNode(element);
}
