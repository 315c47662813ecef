import { countOf, grouped, type RankSpan } from '../../layout';
import { inkOn, moduleFill } from '../../picture/colour';
import { subject } from '../../picture/headline';
import {
  axisEnd,
  faultsOf,
  type ModuleSpan,
  type PhaseRow,
  spanText,
  ticksOf,
  type WorldOutline,
  worldDiagram,
  worldSentence,
} from '../../picture/worldDiagram';
import { button, h, link } from '../panel/dom';
import type { PanelDiagnostic } from '../panel/messages';
import type { Actions, View } from './view';

/** Modules as spans of ranks over one axis, with gaps and overlaps. */
export const world: View = {
  id: 'world',
  label: 'World',
  question: 'Is every rank used once?',
  // one grid over the whole world leaves nothing out and overlaps nothing
  available: ({ outline: { spans, phases } }) => spans.length > 1 || phases.length > 0,
  headline: ({ layout, outline }) => ({ title: worldSentence(outline), sub: subject(layout) }),
  diagram: ({ outline }, width) => worldDiagram(outline, width),
  content: ({ outline, diagnostics, actions }) => worldSheet(outline, diagnostics, actions),
};

/** Diagnostics about the world as a whole, not about one module. */
export const isOfWorld = ({ code }: PanelDiagnostic): boolean =>
  code.startsWith('world-') || code === 'mixed-colocation';

/** The known spans of modules, also of a file that does not resolve. */
export function worldSheet(
  outline: WorldOutline,
  diagnostics: readonly PanelDiagnostic[],
  actions: Actions,
): HTMLElement {
  const { worldSize, spans, phases, weights } = outline;
  const reach = axisEnd(outline);
  const faults = faultsOf(outline);
  const axis = h('div', { class: 'ticks' }, ...ticksOf(reach).map((tick) => tickMark(tick, reach)));
  return h(
    'div',
    { class: 'sheet' },
    ...(worldSize === null ? [h('h2', {}, 'A world of unknown size')] : []),
    ...spans.map((span, i) => moduleRow(span, i, reach, diagnostics, actions)),
    ...faults.map(({ span, what }) => faultRow(span, what, reach)),
    ...(phases.length > 0 ? [h('h3', {}, 'Phases')] : []),
    ...phases.map((phase, i) => phaseRow(phase, spans.length + i, reach)),
    h('div', { class: 'world-row axis' }, h('div', { class: 'world-name' }), axis),
    ...(weights.length > 0 ? [h('ul', { class: 'note' }, ...weights.map((line) => h('li', {}, line)))] : []),
    ...diagnosticList(diagnostics.filter(isOfWorld), actions),
  );
}

function tickMark(tick: number, reach: number): HTMLElement {
  const mark = h('span', {}, grouped(tick));
  mark.style.left = `${(100 * (tick + 0.5)) / reach}%`;
  return mark;
}

function moduleRow(
  { name, start, count }: ModuleSpan,
  index: number,
  reach: number,
  diagnostics: readonly PanelDiagnostic[],
  actions: Actions,
): HTMLElement {
  const label = name ?? 'parallelism';
  const span = { start, end: start + count };
  const bar = button('', () => actions.send({ type: 'reveal', module: name }), {
    class: 'bar',
    'data-keep': `module ${label}`,
    'aria-label': `${label}, ranks ${spanText(span)}: show in the file`,
  });
  const own = diagnostics.filter((one) => one.module === name && name !== null && !isOfWorld(one));
  return h(
    'div',
    { class: 'world-entry' },
    row(h('strong', {}, label), `${countOf(count, 'rank')}: ${spanText(span)}`, coloured(bar, index), span, reach),
    ...diagnosticList(own, actions),
  );
}

/** A phase of a reinforcement-learning job: the ranks that it takes while the others wait. */
function phaseRow({ name, start, count, engine, degrees }: PhaseRow, index: number, reach: number): HTMLElement {
  const detail = [engine, degrees || countOf(count, 'rank')].join(' · ');
  const bar = coloured(h('span', { class: 'bar' }), index);
  return row(h('strong', {}, name), detail, bar, { start, end: start + count }, reach);
}

/** Ranks of no module or of several, hatched so that colour is not needed. */
function faultRow(span: RankSpan, what: string, reach: number): HTMLElement {
  const detail = `${countOf(span.end - span.start, 'rank')}: ${spanText(span)}`;
  return row(h('strong', { class: 'error' }, what), detail, h('span', { class: 'bar fault' }), span, reach);
}

/** A name with its detail, and beside them a bar along the axis with its ranks. */
function row(name: HTMLElement, detail: string, bar: HTMLElement, span: RankSpan, reach: number): HTMLElement {
  bar.append(h('span', { class: 'bar-text' }, spanText(span)));
  bar.style.left = `${(100 * span.start) / reach}%`;
  bar.style.width = `${(100 * (span.end - span.start)) / reach}%`;
  return h(
    'div',
    { class: 'world-row' },
    h('div', { class: 'world-name' }, name, h('span', {}, detail)),
    h('div', { class: 'track' }, bar),
  );
}

function coloured(bar: HTMLElement, index: number): HTMLElement {
  bar.style.backgroundColor = moduleFill(index);
  bar.style.color = inkOn(moduleFill(index));
  return bar;
}

/** Diagnostics with links to their lines, and a last line about more of them; nothing without any. */
export const diagnosticList = (
  diagnostics: readonly PanelDiagnostic[],
  actions: Actions,
  more: readonly HTMLElement[] = [],
): HTMLElement[] =>
  diagnostics.length > 0
    ? [h('ul', { class: 'diagnostics' }, ...diagnostics.map((one) => diagnosticItem(one, actions)), ...more)]
    : [];

/** A diagnostic with a link to its line. */
function diagnosticItem({ code, severity, message, line, hasFix }: PanelDiagnostic, actions: Actions): HTMLElement {
  const toLine = link(
    `line ${line + 1}`,
    () => actions.send({ type: 'revealLine', line }),
    `diagnostic ${code} ${line}`,
  );
  return h(
    'li',
    { class: `diagnostic ${severity}` },
    h('span', { class: 'code' }, code),
    ' ',
    ...withCode(message),
    ' ',
    toLine,
    ...(hasFix ? [' ', link('Fix …', () => actions.send({ type: 'fixLine', line }), `fix ${code} ${line}`)] : []),
  );
}

/** A text with what stands between backticks as code. */
export const withCode = (text: string): (string | HTMLElement)[] =>
  text.split('`').map((part, i) => (i % 2 === 1 ? h('code', {}, part) : part));
