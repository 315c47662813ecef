import { countOf, gapsBetween, grouped, type RankSpan } from '../../layout';
import { moduleFill } from '../../picture/colour';
import { subject } from '../../picture/headline';
import { h } from '../panel/dom';
import type { PanelFinding, PanelOutline, PanelSpan } from '../panel/messages';
import type { Actions, View } from './view';

/** Modules as spans of ranks over one axis: who covers what, what nobody covers, and what several do. */
export const world: View = {
  id: 'world',
  label: 'World',
  question: 'Is every rank used once?',
  headline: ({ layout, outline }) => ({ title: worldSentence(outline), sub: subject(layout) }),
  content: ({ outline, findings, actions }) => worldSheet(outline, findings, actions),
};

/** Findings about the world as a whole, not about one module. */
export const isOfWorld = ({ code }: PanelFinding): boolean => code.startsWith('world-') || code === 'mixed-colocation';

/** The world as far as the file says where modules lie: also for a file that is not whole. */
export function worldSheet(
  { worldSize, spans }: PanelOutline,
  findings: readonly PanelFinding[],
  actions: Pick<Actions, 'revealModule' | 'revealLine'>,
): HTMLElement {
  const ends = spans.map(({ start, count }) => start + count);
  const world = worldSize ?? Math.max(0, ...ends);
  const reach = Math.max(1, world, ...ends);
  const covered = spans.map(({ start, count }) => ({ start, end: start + count }));
  const faults = [
    ...gapsBetween(covered, world).map((span) => ({ span, what: 'no module' })),
    ...overlaps(covered).map((span) => ({ span, what: 'several modules' })),
    ...(reach > world ? [{ span: { start: world, end: reach }, what: 'beyond the world' }] : []),
  ];
  const ofWorld = findings.filter(isOfWorld);
  const axis = h('div', { class: 'ticks' }, ...ticks(reach).map((tick) => tickMark(tick, reach)));
  const sheet = h(
    'div',
    { class: 'sheet' },
    ...(worldSize === null ? [h('h2', {}, 'A world of unknown size')] : []),
    ...spans.map((span, i) => moduleRow(span, i, reach, findings, actions)),
    ...faults.map(({ span, what }) => faultRow(span, what, reach)),
    h('div', { class: 'world-row axis' }, h('div', { class: 'world-name' }), axis),
    ...(ofWorld.length > 0 ? [h('ul', { class: 'findings' }, ...ofWorld.map((one) => findingItem(one, actions)))] : []),
  );
  return sheet;
}

/** Whether every rank is used once, in one line. */
export function worldSentence({ worldSize, spans }: PanelOutline): string {
  const covered = spans.map(({ start, count }) => ({ start, end: start + count }));
  const world = worldSize ?? Math.max(0, ...covered.map(({ end }) => end));
  const count = (found: readonly RankSpan[]) => found.reduce((sum, { start, end }) => sum + end - start, 0);
  const [none, several] = [count(gapsBetween(covered, world)), count(overlaps(covered))];
  const faults = [
    ...(none > 0 ? [`${countOf(none, 'rank')} ${none === 1 ? 'belongs' : 'belong'} to no module`] : []),
    ...(several > 0 ? [`${countOf(several, 'rank')} ${several === 1 ? 'belongs' : 'belong'} to several modules`] : []),
    ...(covered.some(({ end }) => end > world) ? [`a module reaches beyond ${countOf(world, 'rank')}`] : []),
  ];
  if (faults.length > 0) {
    return `${faults.join('; ')}.`;
  }
  const shared = spans.length > 1 && spans.every(({ start }) => start === spans[0]?.start);
  return shared
    ? `Every rank is used by all ${countOf(spans.length, 'module')}.`
    : 'Every rank belongs to exactly one module.';
}

/** About so many ticks stand under the axis. */
const TICKS = 5;

/** Round ranks along the axis: whole multiples of 1, 2 or 5 and a power of ten, or of two where ranks are counted so. */
function ticks(reach: number): number[] {
  const power = 2 ** Math.max(0, Math.round(Math.log2(reach / (TICKS - 1))));
  const steps = Array.from({ length: Math.ceil(reach / power) }, (_, i) => i * power);
  // the last rank has a tick of its own, and room for it
  return [...steps.filter((tick) => tick === 0 || tick + power / 2 < reach), reach - 1].filter(
    (tick, i, all) => all.indexOf(tick) === i,
  );
}

function tickMark(tick: number, reach: number): HTMLElement {
  const mark = h('span', {}, grouped(tick));
  mark.style.left = `${(100 * (tick + 0.5)) / reach}%`;
  return mark;
}

function moduleRow(
  { name, start, count }: PanelSpan,
  index: number,
  reach: number,
  findings: readonly PanelFinding[],
  actions: Pick<Actions, 'revealModule' | 'revealLine'>,
): HTMLElement {
  const label = name ?? 'parallelism';
  const text = count > 1 ? `${grouped(start)} – ${grouped(start + count - 1)}` : grouped(start);
  const bar = h(
    'button',
    {
      type: 'button',
      class: 'bar',
      'data-keep': `module ${label}`,
      'aria-label': `${label}, ranks ${text}: show in the file`,
    },
    h('span', { class: 'bar-text' }, text),
  );
  bar.style.backgroundColor = moduleFill(index);
  bar.style.color = index % 7 === 4 ? '#ffffff' : '#000000';
  place(bar, { start, end: start + count }, reach);
  bar.addEventListener('click', () => actions.revealModule(name));
  const own = findings.filter((one) => one.module === name && name !== null && !isOfWorld(one));
  return h(
    'div',
    { class: 'world-entry' },
    h(
      'div',
      { class: 'world-row' },
      h('div', { class: 'world-name' }, h('strong', {}, label), h('span', {}, countOf(count, 'rank'))),
      h('div', { class: 'track' }, bar),
    ),
    ...(own.length > 0 ? [h('ul', { class: 'findings' }, ...own.map((one) => findingItem(one, actions)))] : []),
  );
}

/** Ranks that nobody, or more than one module, has: hatched, so that no colour is needed to see it. */
function faultRow(span: RankSpan, what: string, reach: number): HTMLElement {
  const last = span.end - 1;
  const ranks = last > span.start ? `${grouped(span.start)} – ${grouped(last)}` : grouped(span.start);
  const bar = h('span', { class: 'bar fault' }, h('span', { class: 'bar-text' }, ranks));
  place(bar, span, reach);
  return h(
    'div',
    { class: 'world-row' },
    h(
      'div',
      { class: 'world-name' },
      h('strong', { class: 'error' }, what),
      h('span', {}, countOf(span.end - span.start, 'rank')),
    ),
    h('div', { class: 'track' }, bar),
  );
}

function place(bar: HTMLElement, { start, end }: RankSpan, reach: number): void {
  bar.style.left = `${(100 * start) / reach}%`;
  bar.style.width = `${(100 * (end - start)) / reach}%`;
}

/** A finding with the way to its line. */
export function findingItem(
  { code, severity, message, line }: PanelFinding,
  actions: Pick<Actions, 'revealLine'>,
): HTMLElement {
  const link = h(
    'button',
    { type: 'button', class: 'link', 'data-keep': `finding ${code} ${line}` },
    `line ${line + 1}`,
  );
  link.addEventListener('click', () => actions.revealLine(line));
  return h(
    'li',
    { class: `finding ${severity}` },
    h('span', { class: 'code' }, code),
    ' ',
    ...withCode(message),
    ' ',
    link,
  );
}

/** A text with what stands between backticks as code. */
export const withCode = (text: string): (string | HTMLElement)[] =>
  text.split('`').map((part, i) => (i % 2 === 1 ? h('code', {}, part) : part));

/** The ranks that more than one span covers, unless all cover the same ones. */
function overlaps(spans: readonly RankSpan[]): RankSpan[] {
  const [first] = spans;
  if (spans.every(({ start, end }) => start === first?.start && end === first.end)) {
    return [];
  }
  const found: RankSpan[] = [];
  let covered = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start < covered) {
      found.push({ start, end: Math.min(end, covered) });
    }
    covered = Math.max(covered, end);
  }
  return found;
}
