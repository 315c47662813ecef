import type { LayoutFacts } from '../../topology/facts';
import { changeFix, suggestion, worldSizeEdits } from '../fixes';
import { countOf } from '../numbers';
import { megatron, modules, type Report, type Rule } from '../rule';
import { flagsCoverPrediction } from './flags';
import { resizeFix } from './place';
import { coverageOf, type ModuleSpan, rangeText } from './spans';

export const worldOverflow: Rule = {
  code: 'world-overflow',
  severity: 'error',
  title: 'A module reaches beyond the world',
  what: '`rank_offset + num_ranks` of a module is more than `world_size`.',
  why: 'The ranks beyond the world do not exist.',
  failing: modules(8, 'images: {num_ranks: 4, tp: 2}', 'language: {rank_offset: 6, num_ranks: 4, tp: 2}'),
  sources: [megatron('megatron/core/hyper_comm_grid.py', 'HyperCommGrid.__init__')],
  *check(facts) {
    const coverage = coverageOf(facts);
    if (!coverage || coverage.fits || coverage.world === undefined) {
      return;
    }
    const { placed, world } = coverage;
    const [last = 0, beforeLast = 0] = placed.map(({ end }) => end).sort((a, b) => b - a);
    for (const one of placed) {
      if (one.end > world) {
        yield overflowReport(facts, one, placed, world, one.end === last ? beforeLast : last);
      }
    }
  },
};

/** @param free the end of the last of the other modules */
function overflowReport(
  facts: LayoutFacts,
  one: ModuleSpan,
  placed: readonly ModuleSpan[],
  world: number,
  free: number,
): Report {
  const { module, name, start, end } = one;
  const offset = module.own?.rank_offset;
  const size = end - start;
  const moved = free + size <= world ? changeFix('rank_offset', offset, free) : null;
  const cut = resizeFix(facts, one, world - start);
  const advice = moved
    ? `Use rank_offset ${free}, or`
    : cut
      ? `Give it ${countOf(world - start, 'rank')}, or use`
      : 'Use';
  const shape = module.degrees
    ? `[${[module.degrees.tp, module.degrees.gtpRemat, module.degrees.cp, module.dp, module.degrees.pp].join(', ')}]`
    : '';
  const whole = worldSizeEdits(facts, end);
  return {
    message: `'${name}' covers ${rangeText(start, end)}, but the world has ranks 0 to ${world - 1}. ${advice} world_size ${end}.`,
    span: offset?.written && start > 0 ? offset.span : module.ranksSpan,
    related: [{ message: `the world has ${countOf(world, 'rank')}`, span: facts.world.span }],
    predicts: facts.mimoFlags
      ? flagsCoverPrediction(placed, world)
      : `Grid shape ${shape} is over sized with world size ${world} and rank offset ${start}`,
    fixes: [moved, cut, whole && suggestion(`Change world_size to ${end}`, whole)],
  };
}
