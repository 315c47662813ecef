import type { Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import type { LayoutFacts } from '../../topology/facts';
import { changeFix, replaceFix, suggestion, worldSizeEdits } from '../fixes';
import { countOf } from '../numbers';
import type { Report, Rule } from '../rule';
import { otherSource } from '../source';
import { flagsCoverPrediction, flagsOverlapPrediction } from './flags';
import { type Coverage, coverageOf, type ModuleSpan, rangesOf, rangeText, sameSpan, spanRelated } from './spans';

export const worldOverflow: Rule = {
  code: 'world-overflow',
  severity: 'error',
  title: 'A module reaches beyond the world',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`rank_offset + num_ranks` of a module is more than `world_size`.',
  why: 'The ranks beyond the world do not exist. Megatron-LM refuses to build the grid.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 6, num_ranks: 4, tp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  sources: [otherSource('`HyperCommGrid.__init__` in megatron/core/hyper_comm_grid.py')],
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
  const size = end - start;
  const room = world - size;
  const shape = module.degrees
    ? `[${[module.degrees.tp, module.degrees.gtpRemat, module.degrees.cp, module.dp, module.degrees.pp].join(', ')}]`
    : '';
  const whole = worldSizeEdits(facts, end);
  const offset = module.own?.rank_offset;
  return {
    message: `\`${name}\` covers ${rangeText(start, end)}, but the world has ranks 0 to ${world - 1}. ${
      room >= 0
        ? `Use rank_offset ${free + size <= world ? free : room} or less`
        : `Give it ${countOf(world, 'rank')} or fewer`
    }, or world_size ${end}.`,
    span: offset?.written && start > 0 ? offset.span : module.ranksSpan,
    related: [{ message: `the world has ${countOf(world, 'rank')}`, span: facts.world.span }],
    predicts: facts.mimoFlags
      ? flagsCoverPrediction(placed, world)
      : `Grid shape ${shape} is over sized with world size ${world} and rank offset ${start}`,
    fixes: [
      ...(offset?.written && free + size <= world ? [replaceFix(offset.span, String(free))] : []),
      ...shrinkFixes(one, world - start),
      ...(whole ? [suggestion(`Change world_size to ${end}`, whole)] : []),
    ],
  };
}

/** Fixes that give a module as many ranks as there is room for, where whole replicas fit. */
function shrinkFixes({ module }: ModuleSpan, room: number): Fix[] {
  const { own, denseModel, expertModel } = module;
  if (!own?.num_ranks.written || own.dp.written || denseModel === undefined || expertModel === undefined) {
    return [];
  }
  return room > 0 && room % denseModel === 0 && room % expertModel === 0
    ? [changeFix('num_ranks', own.num_ranks.span, room)]
    : [];
}

export const worldOverlap: Rule = {
  code: 'world-overlap',
  severity: 'error',
  title: 'Two modules share some ranks but not all',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'The spans `[rank_offset, rank_offset + num_ranks)` of two modules overlap without being equal.',
  why: 'Modules either share all their ranks (colocated) or none. Megatron-LM stops otherwise.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 2, num_ranks: 6, tp: 2}
`,
  passing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 4, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  sources: [otherSource('`_validate_grid_ranges` as run by `create_topology` in examples/mimo/training/topology.py')],
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
    message: `\`${first.name}\` and \`${second.name}\` both have ${rangeText(start, end)}. Start \`${high.name}\` at rank ${low.end}, or let both cover the same ranks.`,
    span: offset?.written ? offset.span : high.module.nameSpan,
    related: [spanRelated(low)],
    predicts: facts.mimoFlags ? flagsOverlapPrediction(start, end) : allRanges,
    fixes: [...moveFixes(facts, high, low.end), ...shrinkFixes(low, high.start - low.start)],
  };
}

function overlapPrediction(placed: readonly ModuleSpan[]): string {
  return `Module grids must either fully share ranks or be pairwise disjoint, got ${rangesOf(placed)}`;
}

/** Moves a module to another first rank, alone or with the world growing behind it. */
function moveFixes(facts: LayoutFacts, { module, start, end, name }: ModuleSpan, to: number): Fix[] {
  const { own } = module;
  const edit = own && setKey(facts.text, module.span, 'rank_offset', own.rank_offset, to);
  if (!edit) {
    return [];
  }
  const title = `Start \`${name}\` at rank ${to}`;
  const world = end - start + to;
  const grown = worldSizeEdits(facts, world);
  return [
    suggestion(title, [edit]),
    ...(grown ? [suggestion(`${title} and change world_size to ${world}`, [edit, ...grown])] : []),
  ];
}

export const mixedColocation: Rule = {
  code: 'mixed-colocation',
  severity: 'error',
  title: 'Some modules share their ranks while others stand apart',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'Two or more modules have the same span while another has a different one.',
  why: 'A job is either colocated as a whole (all modules on all ranks) or not at all; Megatron-LM has no path for a mixture.',
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
  sources: [otherSource('`create_topology` in examples/mimo/training/topology.py')],
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

/** Whether two modules share one span while another stands elsewhere. */
function isMixed({ colocated, pairs }: Coverage): boolean {
  return !colocated && pairs.some(([a, b]) => sameSpan(a, b));
}
