import { grouped } from '../../layout';
import { type Colouring, colourOf, isCycle, isRamp, type Sign } from '../../picture/colour';
import { themeKind } from '../render/theme';
import { h } from './dom';

/** Colours from which a ramp is blended. */
const RAMP_STEPS = 40;

/** What the colours of a picture stand for. */
export function legendOf(colouring: Colouring): HTMLElement[] {
  const items = isRamp(colouring) ? ramp(colouring) : isCycle(colouring) ? cycle(colouring) : kinds(colouring);
  return [h('span', { class: 'what' }, colouring.name), ...items];
}

/** What the folded corners of ranks that differ stand for. */
export const changeLegend = (): HTMLElement[] => [
  h('span', { class: 'item' }, h('span', { class: 'corner-mark filled', 'aria-hidden': 'true' }), 'other coordinates'),
  h('span', { class: 'item' }, h('span', { class: 'corner-mark', 'aria-hidden': 'true' }), 'other peers'),
];

/** A swatch for each value, with its sign where it has one. */
function kinds(colouring: Colouring): HTMLElement[] {
  return Array.from({ length: colouring.values }, (_, value) =>
    h('span', { class: 'item' }, swatch(value, colouring), colouring.label(value)),
  );
}

/** Colours that come round again name no single value: what matters is that neighbours differ. */
function cycle(colouring: Colouring): HTMLElement[] {
  const swatches = Array.from({ length: 7 }, (_, value) => swatch(value, colouring));
  const first = `${colouring.label(0)}, ${colouring.label(1)}, …`;
  return [
    h('span', { class: 'item' }, h('span', { class: 'run', 'aria-hidden': 'true' }, ...swatches), first),
    h(
      'span',
      { class: 'item hint' },
      `${grouped(colouring.values)} in all; colours repeat, point at a rank to see its own`,
    ),
  ];
}

/** The ramp from the first value to the last. */
function ramp(colouring: Colouring): HTMLElement[] {
  const last = colouring.values - 1;
  const steps = Math.min(colouring.values, RAMP_STEPS);
  const colours = Array.from({ length: steps }, (_, i) =>
    colourOf(Math.round((i * last) / (steps - 1)), colouring, themeKind()),
  );
  const run = h('span', { class: 'ramp', 'aria-hidden': 'true' });
  run.style.backgroundImage = `linear-gradient(to right, ${colours.join(', ')})`;
  return [h('span', { class: 'item' }, colouring.label(0), run, colouring.label(last))];
}

/** What stands for a sign in text. */
export const SIGN_TEXT: Readonly<Record<Sign, string>> = { none: '', cross: '✕', stripes: '//', dots: '…' };

function swatch(value: number, colouring: Colouring): HTMLElement {
  const sign = SIGN_TEXT[colouring.statuses?.[value]?.sign ?? 'none'];
  const element = h('span', { class: 'swatch', 'aria-hidden': 'true' }, sign);
  element.style.backgroundColor = colourOf(value, colouring, themeKind());
  return element;
}
