import { type ModuleSequence, type SequencePlan, type SequenceShare, sequenceShare, type TokenRange } from '../layout';
import { formatted, h } from './dom';

/** How many strips of one module are drawn. */
const MAX_STRIPS = 64;

/** Who holds which tokens: a strip of token positions for every rank of a replica that holds a share of its own. */
export function sequenceView(sequences: readonly ModuleSequence[]): HTMLElement {
  return h('div', { class: 'world' }, ...sequences.flatMap(moduleStrips));
}

function moduleStrips({ module, plan }: ModuleSequence): HTMLElement[] {
  const { cp, tp, length, sequenceParallel } = plan;
  const cut = sequenceParallel && tp > 1;
  const perContextRank = cut ? tp : 1;
  const strips = cp * perContextRank;
  const shown = Math.min(strips, MAX_STRIPS);
  const rows = Array.from({ length: shown }, (_, i) =>
    strip(plan, sequenceShare(plan, Math.floor(i / perContextRank), i % perContextRank), cut),
  );
  const ends = h(
    'div',
    { class: 'world-row strip' },
    h('div', { class: 'world-name' }, ''),
    h('div', { class: 'ends' }, h('span', {}, '0'), h('span', {}, `token ${formatted(length - 1)}`)),
  );
  const more = strips > shown ? [h('p', { class: 'hint' }, `and ${formatted(strips - shown)} more ranks`)] : [];
  return [
    h('h2', {}, `${module === null ? '' : `${module}: `}${formatted(length)} tokens`),
    h('p', { class: 'hint' }, explanation(plan)),
    ...rows,
    ends,
    ...more,
  ];
}

function explanation({ cp, tp, sequenceParallel }: SequencePlan): string {
  const context =
    cp > 1
      ? 'Each context-parallel rank holds one chunk from the front and one from the back, so that causal attention costs all the same.'
      : 'Without context parallelism every rank sees the whole sequence.';
  const cut = sequenceParallel && tp > 1;
  return `${context} ${cut ? 'Sequence parallelism cuts each share once more by tp.' : tp > 1 ? 'All tp ranks hold the same tokens.' : ''}`.trim();
}

function strip({ length }: SequencePlan, { cpRank, tpRank, embeddings }: SequenceShare, cut: boolean): HTMLElement {
  const bars = embeddings.map(([start, end]) => {
    const bar = h('span', { class: `bar bar-${cpRank % 7}` });
    bar.style.left = `${(100 * start) / length}%`;
    bar.style.width = `${(100 * (end - start)) / length}%`;
    return bar;
  });
  const name = cut ? `cp ${cpRank} · tp ${tpRank}` : `cp ${cpRank}`;
  return h(
    'div',
    { class: 'world-row strip' },
    h('div', { class: 'world-name' }, h('strong', {}, name), h('span', {}, embeddings.map(rangeText).join(', '))),
    h('div', { class: 'track', 'aria-hidden': 'true' }, ...bars),
  );
}

const rangeText = ([start, end]: TokenRange): string => `${formatted(start)} – ${formatted(end - 1)}`;
