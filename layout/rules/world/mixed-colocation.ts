import type { Rule } from '../rule';
import { megatron } from '../source';
import { coverageOf, isMixed, overlapPrediction, rangeText, sameSpan, spanRelated } from './spans';

export const mixedColocation: Rule = {
  code: 'mixed-colocation',
  severity: 'error',
  title: 'Some modules share ranks, others do not',
  effect: 'Megatron-LM stops on every rank',
  what: 'Two or more modules have the same span while another has a different one.',
  why: 'A job is either colocated as a whole (all modules on all ranks) or not at all; Megatron-LM does not support a mixture.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  audio: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 2, tp: 2}
  audio: {rank_offset: 2, num_ranks: 2, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  sources: [megatron('examples/mimo/training/topology.py', 'create_topology')],
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
        message: `\`${first.name}\` and \`${second.name}\` share ${rangeText(first.start, first.end)} while \`${apart.name}\` has ${rangeText(apart.start, apart.end)}. Give all modules the same ranks, or each its own.`,
        span: second.module.nameSpan,
        related: [spanRelated(first), spanRelated(apart)],
        predicts: overlapPrediction(placed),
        fixes: [],
      };
    }
  },
};
