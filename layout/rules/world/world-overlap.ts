import type { Fix } from '../../diagnostic';
import type { LayoutFacts } from '../../topology/facts';
import { suggestion, worldSizeEdits } from '../fixes';
import { megatron, modules, type Report, type Rule } from '../rule';
import { flagsOverlapPrediction } from './flags';
import { placeEdits, resizeFix } from './place';
import { coverageOf, isMixed, type ModuleSpan, overlapPrediction, rangeText, sameSpan, spanRelated } from './spans';

export const worldOverlap: Rule = {
  code: 'world-overlap',
  severity: 'error',
  title: 'Two modules share some ranks but not all',
  what: 'The spans `[rank_offset, rank_offset + num_ranks)` of two modules overlap without being equal.',
  why: 'Modules share all their ranks (colocated) or none.',
  failing: modules(8, 'images: {num_ranks: 4, tp: 2}', 'language: {rank_offset: 2, num_ranks: 6, tp: 2}'),
  sources: [megatron('examples/mimo/training/topology.py', '_validate_grid_ranges', 'create_topology')],
  *check(facts) {
    const coverage = coverageOf(facts);
    if (!coverage?.fits || isMixed(coverage)) {
      return;
    }
    const { placed } = coverage;
    const pairs = coverage.pairs.filter(([first, second]) => !sameSpan(first, second));
    // it names every module, so it is made once for all pairs
    const allRanges = pairs.length > 0 ? overlapPrediction(placed) : '';
    for (const [first, second] of pairs) {
      yield overlapReport(facts, first, second, allRanges);
    }
  },
};

function overlapReport(facts: LayoutFacts, first: ModuleSpan, second: ModuleSpan, allRanges: string): Report {
  const start = Math.max(first.start, second.start);
  const end = Math.min(first.end, second.end);
  const [low, high] = first.start <= second.start ? [first, second] : [second, first];
  const offset = high.module.own?.rank_offset;
  return {
    message: `'${first.name}' and '${second.name}' both have ${rangeText(start, end)}. Start '${high.name}' at rank ${low.end}, or let both cover the same ranks.`,
    span: offset?.written ? offset.span : high.module.nameSpan,
    related: [spanRelated(low)],
    predicts: facts.mimoFlags ? flagsOverlapPrediction(start, end) : allRanges,
    fixes: [...moveFixes(facts, high, low.end), resizeFix(facts, low, high.start - low.start)],
  };
}

/** Moves a module to another first rank, alone or with the world growing behind it. */
function moveFixes(facts: LayoutFacts, one: ModuleSpan, to: number): (Fix | null)[] {
  const world = to + one.end - one.start;
  const edits = placeEdits(facts, one, to, world) ?? [null];
  const title = `Start '${one.name}' at rank ${to}`;
  return [
    suggestion(title, edits),
    suggestion(`${title} and change world_size to ${world}`, [...edits, ...(worldSizeEdits(facts, world) ?? [null])]),
  ];
}
