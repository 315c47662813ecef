import { type PhaseSpan, phaseSpans } from '../../topology/phases';
import { setFix } from '../fixes';
import { job, type Rule } from '../rule';

export const phaseOverlap: Rule = {
  code: 'phase-overlap',
  severity: 'error',
  title: 'Phases share some of their ranks only',
  effect: 'the phases wait for one another, or run out of memory',
  what: 'The ranks of two phases overlap, and neither has all ranks of the other.',
  why: 'Phases take turns on the same GPUs, or run side by side on different ones. Where spans cross, each phase has GPUs that the other holds and GPUs that stand idle meanwhile.',
  failing: job(8, 'tp: 2', 'phases: {train: {num_ranks: 6, tp: 2}, rollout: {engine: vllm, rank_offset: 4, tp: 4}}'),
  passing: job(8, 'tp: 2', 'phases: {train: {num_ranks: 4, tp: 2}, rollout: {engine: vllm, rank_offset: 4, tp: 4}}'),
  *check(facts) {
    const spans = [...phaseSpans(facts)].sort((a, b) => a.start - b.start || b.end - a.end);
    // of spans by their start, the one that reaches furthest is the only one that a later span can cross last
    let furthest: PhaseSpan | undefined;
    for (const span of spans) {
      if (furthest && span.start > furthest.start && span.start < furthest.end && span.end > furthest.end) {
        yield {
          message: `Phases '${furthest.field.name}' (ranks ${furthest.start} to ${furthest.end - 1}) and '${span.field.name}' (ranks ${span.start} to ${span.end - 1}) share ranks ${span.start} to ${furthest.end - 1} only. Give both the same ranks, or start '${span.field.name}' at rank ${furthest.end}.`,
          span: span.field.keySpan,
          fixes: [setFix(facts.text, span.field.span, 'rank_offset', span.phase.rank_offset, furthest.end)],
          related: [{ message: `'${furthest.field.name}' is here`, span: furthest.field.keySpan }],
        };
      }
      furthest = !furthest || span.end > furthest.end ? span : furthest;
    }
  },
};
