import { countOf, grouped, type ModuleSequence, type SequencePlan, type TokenRange } from '../../layout';
import { subject } from '../../picture/headline';
import { rangeText, type Strip, sequenceDiagram, shareSentence, stripsOf } from '../../picture/sequence';
import { h } from '../panel/dom';
import type { View } from './view';

/** Who holds which tokens: a strip of token positions for every rank of a replica that holds a share of its own. */
export const sequence: View = {
  id: 'sequence',
  label: 'Tokens',
  question: 'Which tokens does a rank hold?',
  available: ({ sequences }) => sequences.length > 0,
  headline: ({ layout, sequences }) => ({ title: sequences.map(shareSentence).join(' '), sub: subject(layout) }),
  diagram: ({ sequences }, width) => sequenceDiagram(sequences, width),
  content: ({ sequences }) => h('div', { class: 'sheet' }, ...sequences.map(moduleStrips)),
};

function moduleStrips({ module, plan }: ModuleSequence): HTMLElement {
  const { length } = plan;
  const { strips, count } = stripsOf(plan);
  const middle = h('span', {}, grouped(length / 2));
  const ends = h('div', { class: 'ends' }, h('span', {}, '0'), middle, h('span', {}, `token ${grouped(length - 1)}`));
  const title = `${module === null ? '' : `${module}: `}${grouped(length)} tokens`;
  const left = count - strips.length;
  const more = left > 0 ? [h('p', { class: 'hint' }, `and ${countOf(left, 'more rank')}`)] : [];
  return h(
    'section',
    {},
    h('h2', {}, title),
    h('p', { class: 'hint' }, explanation(plan)),
    ...strips.map((one) => stripRow(plan, one)),
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

function stripRow(plan: SequencePlan, { name, fill, embeddings, labels }: Strip): HTMLElement {
  const bars = embeddings.map((range) => bar(plan, range, 'bar', fill));
  const lines = labels.map((range) => bar(plan, range, 'labels', fill));
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
