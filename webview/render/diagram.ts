import type { Diagram, Paint, Shape } from '../../picture/diagram';

const NAMESPACE = 'http://www.w3.org/2000/svg';

/** The variables of the style sheet that give roles their colours. */
const VARIABLES: Readonly<Record<string, string>> = {
  text: '--grid-foreground',
  muted: '--grid-muted',
  box: '--grid-box',
  boxFill: '--grid-box-fill',
  ground: '--grid-background',
  error: '--grid-error',
  warning: '--grid-link',
};

/**
 * A diagram in the colours of the theme.
 * @param label its text for screen readers
 */
export function diagramElement({ width, height, shapes }: Diagram, label: string): SVGElement {
  const element = make('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
  element.append(...shapes.map(shapeElement));
  return element;
}

function make(tag: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS(NAMESPACE, tag) as SVGElement;
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  return element;
}

function shapeElement(shape: Shape): SVGElement {
  switch (shape.kind) {
    case 'group': {
      const group = make('g', { transform: `translate(0 ${shape.y})` });
      group.append(...shape.shapes.map(shapeElement));
      return group;
    }
    case 'text': {
      const { x, y, words, size, paint, weight = 400, anchor = 'start' } = shape;
      const element = make('text', { x, y, 'font-size': size, 'font-weight': weight, 'text-anchor': anchor });
      element.textContent = words;
      element.style.fill = colourOf(paint);
      return element;
    }
    case 'rect': {
      const { x, y, width, height } = shape;
      return painted(make('rect', { x, y, width, height }), shape);
    }
    case 'path': {
      const element = painted(make('path', { d: shape.d }), shape);
      element.style.strokeWidth = String(shape.lineWidth ?? 1);
      return element;
    }
  }
}

function painted(
  element: SVGElement,
  { fill, stroke, fade }: Pick<Extract<Shape, { kind: 'rect' }>, 'fill' | 'stroke' | 'fade'>,
): SVGElement {
  element.style.fill = fill ? colourOf(fill) : 'none';
  element.style.stroke = stroke ? colourOf(stroke) : 'none';
  element.style.opacity = String(1 - (fade ?? 0));
  return element;
}

const colourOf = (paint: Paint): string => (VARIABLES[paint] ? `var(${VARIABLES[paint]})` : paint);
