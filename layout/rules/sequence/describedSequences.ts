import type { SequenceKeys } from '../../format/keys';
import type { Section } from '../../format/spec';
import { type Degrees, type LayoutFacts, type ModuleFacts, valueOr } from '../../topology/facts';
import { sequenceDivisor } from '../../topology/sequence';
import { scattersRankByRank } from '../../topology/sequencePlans';
import type { Report } from '../rule';

/** A grid whose sequences are described. */
export interface DescribedSequence {
  readonly module: ModuleFacts;
  readonly sequence: Section<SequenceKeys>;
  readonly degrees: Degrees;
  readonly sequenceParallel: boolean;
}

/** By what the length of a sequence must be divisible, as a number and as its factors: `2 x cp 4 x tp 2 = 16`. */
export function divisorOf(
  facts: LayoutFacts,
  { degrees: { tp, cp }, sequenceParallel }: DescribedSequence,
): { readonly divisor: number; readonly factors: string } {
  const isCut = sequenceParallel && tp > 1;
  const isGpt = scattersRankByRank(facts);
  const divisor = sequenceDivisor({ cp, tp, sequenceParallel: isCut }, isGpt);
  const factors =
    isGpt && isCut && cp > 1
      ? `cp ${cp} x lcm(2, tp ${tp})`
      : [...(cp > 1 ? [`2 x cp ${cp}`] : []), ...(isCut ? [`tp ${tp}`] : [])].join(' x ');
  return { divisor, factors: cp > 1 ? `${factors} = ${divisor}` : factors };
}

/** The check of a rule on each grid whose sequences are described and whose degrees are usable. */
export function eachSequence(
  reportsOf: (described: DescribedSequence, facts: LayoutFacts) => Iterable<Report>,
): (facts: LayoutFacts) => Iterable<Report> {
  return function* (facts) {
    for (const module of facts.modules) {
      const { degrees } = module;
      const sequence = module.sequence.value;
      const sequenceParallel = (sequence && valueOr(sequence.sequence_parallel, false)) ?? false;
      yield* sequence && degrees ? reportsOf({ module, sequence, degrees, sequenceParallel }, facts) : [];
    }
  };
}
