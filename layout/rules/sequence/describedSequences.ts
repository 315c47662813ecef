import type { SequenceKeys } from '../../format/keys';
import type { Section } from '../../format/spec';
import { type Degrees, type LayoutFacts, type ModuleFacts, valueOr } from '../../topology/facts';

/** A grid whose sequences are described. */
export interface DescribedSequence {
  readonly module: ModuleFacts;
  readonly sequence: Section<SequenceKeys>;
  readonly degrees: Degrees;
  readonly sequenceParallel: boolean;
}

/** The grids whose sequences are described and whose degrees are usable. */
export function* describedSequences({ modules }: LayoutFacts): Iterable<DescribedSequence> {
  for (const module of modules) {
    const sequence = module.sequence.value;
    if (sequence && module.degrees) {
      const sequenceParallel = valueOr(sequence.sequence_parallel, false) ?? false;
      yield { module, sequence, degrees: module.degrees, sequenceParallel };
    }
  }
}
