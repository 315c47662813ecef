import type { Fix } from '../../diagnostic';
import type { LayoutFacts } from '../../topology/facts';
import { suggestion } from '../fixes';
import { both } from '../numbers';
import { MIMO_TOPOLOGY, modules, type Rule } from '../rule';
import { placeEdits, sideBySideFix } from './place';
import { coverageOf, isMixed, type ModuleSpan, overlapPrediction, rangeText, sameSpan, spanRelated } from './spans';

export const mixedColocation: Rule = {
  code: 'mixed-colocation',
  severity: 'error',
  title: 'Some modules share ranks, others do not',
  what: 'Two or more modules have the same span while another has a different one.',
  why: 'A job is colocated as a whole (all modules on all ranks) or not at all.',
  failing: modules(
    8,
    'images: {num_ranks: 4, tp: 2}',
    'audio: {num_ranks: 4, tp: 2}',
    'language: {rank_offset: 4, num_ranks: 4, tp: 2}',
  ),
  sources: [MIMO_TOPOLOGY],
  *check(facts) {
    const coverage = coverageOf(facts);
    if (!coverage?.fits || !isMixed(coverage)) {
      return;
    }
    const { placed, pairs } = coverage;
    const shared = pairs.find(([a, b]) => sameSpan(a, b));
    const apart = placed.find((one) => shared && !sameSpan(one, shared[0]));
    if (shared && apart) {
      const [first, second] = shared;
      yield {
        message: `'${first.name}' and '${second.name}' share ${rangeText(first.start, first.end)} while '${apart.name}' has ${rangeText(apart.start, apart.end)}. Give all modules the same ranks, or each its own.`,
        span: second.module.nameSpan,
        related: [spanRelated(first), spanRelated(apart)],
        predicts: overlapPrediction(placed),
        fixes: apartFixes(facts, placed, shared[0]),
      };
    }
  },
};

/** Ways to give each module its own ranks: cut the shared ones, or lay all modules side by side in a larger world. */
function apartFixes(facts: LayoutFacts, placed: readonly ModuleSpan[], { start, end }: ModuleSpan): (Fix | null)[] {
  const sharing = placed.filter((one) => one.start === start && one.end === end);
  const share = (end - start) / sharing.length;
  const cut = sharing.map((one, i) => placeEdits(facts, one, start + i * share, start + (i + 1) * share));
  const names = sharing.map(({ name }) => `'${name}'`);
  return [
    suggestion(
      `Divide ${rangeText(start, end)} among ${both(names)}`,
      cut.flatMap((one) => one ?? [null]),
    ),
    sideBySideFix(facts, placed),
  ];
}
