import type { Span } from '../../diagnostic';
import { problemsOf } from '../../format/problems';
import { MAX_WORLD } from '../../topology/facts';
import { countOf } from '../numbers';
import { job, type Report, type Rule } from '../rule';

export const numberTooLarge: Rule = {
  code: 'number-too-large',
  severity: 'error',
  title: 'A number too large for any job',
  effect: 'no job can be so large',
  what: 'A number is not exact in 53 bits, or a world has more than 2^31 ranks.',
  why: 'Ranks are counted in 32 bits. Arithmetic with a larger number would be wrong, and nothing would report it.',
  failing: job(4294967296, 'tp: 2'),
  passing: job(1048576, 'tp: 2'),
  sources: ['torch.distributed counts ranks in 32 bits'],
  *checkShape({ problems }) {
    for (const { node } of problemsOf(problems, 'number-too-large')) {
      yield { message: `${node.source} is larger than any number of ranks, layers or bytes.`, span: node.span };
    }
  },
  *check({ root, world, modules }) {
    const size = root.world_size.value ?? world.clusterSize;
    if (size !== undefined && size > MAX_WORLD) {
      yield tooLarge(size, world.span);
    }
    for (const { own } of modules) {
      const ranks = own?.num_ranks.value;
      if (own && ranks !== undefined && ranks > MAX_WORLD) {
        yield tooLarge(ranks, own.num_ranks.span);
      }
    }
  },
};

function tooLarge(ranks: number, span: Span): Report {
  return { message: `${countOf(ranks, 'rank')} are more than the 2^31 that a world can have.`, span };
}
