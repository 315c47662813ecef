import type { ModuleSequence, SequencePlan } from '../../layout';
import { subject } from '../../picture/headline';
import { rangeText, sequenceDiagram, shareSentence, stripsOf } from '../../picture/sequence';
import { h } from '../panel/dom';
import { diagramElement } from '../render/diagram';
import type { View } from './view';

/** Who holds which tokens: a strip of token positions for every rank of a replica that holds a share of its own. */
export const sequence: View = {
  id: 'sequence',
  label: 'Tokens',
  question: 'Which tokens does a rank hold?',
  available: ({ sequences }) => sequences.length > 0,
  headline: ({ layout, sequences }) => ({ title: sequences.map(shareSentence).join(' '), sub: subject(layout) }),
  diagram: ({ sequences }, width) => sequenceDiagram(sequences, width),
  content: ({ sequences, width }) =>
    h(
      'div',
      { class: 'sheet diagram-sheet' },
      ...[...new Set(sequences.map(({ plan }) => explanation(plan)))].map((words) => h('p', { class: 'hint' }, words)),
      diagramElement(sequenceDiagram(sequences, width), sequences.map(spoken).join('; ')),
    ),
};

/** The strips of a module in words, for screen readers. */
const spoken = ({ module, plan }: ModuleSequence): string =>
  stripsOf(plan)
    .strips.map(({ name, embeddings }) =>
      [module, name, embeddings.map(rangeText).join(', ')].filter(Boolean).join(' '),
    )
    .join('; ');

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
