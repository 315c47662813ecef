import {
  countOf,
  grouped,
  type ModuleSequence,
  type SequencePlan,
  type SequenceShare,
  sequenceShare,
  type TokenRange,
} from '../../layout';
import { moduleFill } from '../../picture/colour';
import { subject } from '../../picture/headline';
import { h } from '../panel/dom';
import type { View } from './view';

/** How many strips of one module are drawn. */
const MAX_STRIPS = 64;

/** Who holds which tokens: a strip of token positions for every rank of a replica that holds a share of its own. */
export const sequence: View = {
  id: 'sequence',
  label: 'Tokens',
  question: 'Which tokens does a rank hold?',
  available: ({ sequences }) => sequences.length > 0,
  headline: ({ layout, sequences }) => ({ title: sequences.map(shareSentence).join(' '), sub: subject(layout) }),
  content: ({ sequences }) => h('div', { class: 'sheet' }, ...sequences.map(moduleStrips)),
};

/** How much of a sequence one rank holds. */
function shareSentence({ module, plan }: ModuleSequence): string {
  const { length, cp, tp, sequenceParallel } = plan;
  const held = length / cp / (sequenceParallel ? tp : 1);
  const [name, every, one] = module === null ? ['', 'Every', 'A'] : [`${module}: `, 'every', 'a'];
  const chunks = cp > 1 ? ', one chunk from the front and one from the back' : '';
  return held === length
    ? `${name}${every} rank holds all ${grouped(length)} tokens.`
    : `${name}${one} rank holds ${grouped(held)} of ${grouped(length)} tokens${chunks}.`;
}

function moduleStrips({ module, plan }: ModuleSequence): HTMLElement {
  const { cp, tp, length, sequenceParallel } = plan;
  const cut = sequenceParallel && tp > 1;
  const perContextRank = cut ? tp : 1;
  const strips = cp * perContextRank;
  const shown = Math.min(strips, MAX_STRIPS);
  const rows = Array.from({ length: shown }, (_, i) =>
    strip(plan, sequenceShare(plan, Math.floor(i / perContextRank), i % perContextRank), cut),
  );
  const middle = h('span', {}, grouped(length / 2));
  const ends = h('div', { class: 'ends' }, h('span', {}, '0'), middle, h('span', {}, `token ${grouped(length - 1)}`));
  const title = `${module === null ? '' : `${module}: `}${grouped(length)} tokens`;
  const more = strips > shown ? [h('p', { class: 'hint' }, `and ${countOf(strips - shown, 'more rank')}`)] : [];
  return h(
    'section',
    {},
    h('h2', {}, title),
    h('p', { class: 'hint' }, explanation(plan)),
    ...rows,
    h('div', { class: 'world-row strip' }, h('div', { class: 'world-name' }), ends),
    ...more,
  );
}

function explanation({ cp, tp, sequenceParallel }: SequencePlan): string {
  const context =
    cp > 1
      ? 'Each context-parallel rank holds one chunk from the front and one from the back, so that causal attention costs all the same.'
      : 'Without context parallelism every rank sees the whole sequence.';
  if (tp === 1) {
    return context;
  }
  return sequenceParallel
    ? `${context} Sequence parallelism cuts the embeddings of each share once more by tp; the labels (thin line) stay whole.`
    : `${context} All tp ranks hold the same tokens.`;
}

function strip(plan: SequencePlan, { cpRank, tpRank, embeddings, labels }: SequenceShare, cut: boolean): HTMLElement {
  const bars = embeddings.map((range) => bar(plan, range, 'bar', moduleFill(cpRank)));
  const lines = labels.map((range) => bar(plan, range, 'labels', moduleFill(cpRank)));
  const name = cut ? `cp ${cpRank} · tp ${tpRank}` : `cp ${cpRank}`;
  const held = embeddings.reduce((sum, [start, end]) => sum + end - start, 0);
  const text = h('span', { class: 'tokens' }, embeddings.map(rangeText).join(', '));
  const row = h(
    'div',
    { class: 'world-row strip' },
    h('div', { class: 'world-name' }, h('strong', {}, name), text),
    h('div', { class: 'track', 'aria-hidden': 'true' }, ...bars, ...lines),
  );
  row.title = `${name}: embeddings of ${grouped(held)} tokens (${embeddings.map(rangeText).join(', ')}), labels ${labels.map(rangeText).join(', ')}`;
  return row;
}

function bar({ length }: SequencePlan, [start, end]: TokenRange, kind: string, fill: string): HTMLElement {
  const element = h('span', { class: kind });
  element.style.left = `${(100 * start) / length}%`;
  element.style.width = `${(100 * (end - start)) / length}%`;
  element.style.backgroundColor = fill;
  return element;
}

const rangeText = ([start, end]: TokenRange): string => `${grouped(start)} – ${grouped(end - 1)}`;
