import type { Fix } from '../../diagnostic';
import { gapsBetween, type RankSpan } from '../../grid/spans';
import type { LayoutFacts } from '../../topology/facts';
import { suggestion, worldSizeEdits } from '../fixes';
import { both, countOf } from '../numbers';
import { MIMO_TOPOLOGY, modules, type Report, type Rule } from '../rule';
import { flagsCoverPrediction } from './flags';
import { placeEdits, resizeFix, sideBySideFix } from './place';
import { type Coverage, coverageOf, type ModuleSpan, rangesOf, rangeText, spanRelated } from './spans';

export const worldGap: Rule = {
  code: 'world-gap',
  severity: 'error',
  title: 'Some ranks belong to no module',
  what: 'The modules together do not cover every rank of `[0, world_size)`.',
  why: 'A rank without a module has nothing to run.',
  failing: modules(8, 'images: {num_ranks: 2, tp: 2}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}'),
  sources: [MIMO_TOPOLOGY],
  *check(facts) {
    const coverage = coverageOf(facts);
    // ranks that are shared wrongly come first
    if (!coverage?.fits || coverage.world === undefined || !(coverage.colocated || coverage.pairs.length === 0)) {
      return;
    }
    const { placed, world } = coverage;
    const gaps = gapsBetween(placed, world);
    if (gaps.length > 0) {
      yield gapReport(facts, coverage, world, gaps);
    }
  },
};

function gapReport(
  facts: LayoutFacts,
  { placed, colocated }: Coverage,
  world: number,
  gaps: readonly RankSpan[],
): Report {
  const missing = gaps.reduce((n, { start, end }) => n + end - start, 0);
  const shown = gaps.slice(0, 4).map(({ start, end }) => rangeText(start, end));
  const more = gaps.length > shown.length ? [`${gaps.length - shown.length} more ranges`] : [];
  const gap = gaps[0] ?? { start: 0, end: 0 };
  const { start: gapStart, end: gapEnd } = gap;
  const isShared = placed.length > 1 && colocated;
  const before = isShared ? undefined : placed.find(({ end }) => end === gapStart);
  const after = isShared ? undefined : placed.find(({ start }) => start === gapEnd);
  const ways = [
    ...(isShared ? ['give each module ranks of its own'] : []),
    ...(before ? [`grow '${before.name}' by ${countOf(gapEnd - gapStart, 'rank')}`] : []),
    ...(after ? [`start '${after.name}' at rank ${gapStart}`] : []),
    ...(gapEnd === world ? [`use world_size ${gapStart}`] : []),
  ];
  const text = ways.join(', or ');
  const at = after?.module.own?.rank_offset;
  return {
    message: `No module has ${both([...shown, ...more])}${gaps.length > 1 ? ` (${countOf(missing, 'rank')})` : ''}. ${text.charAt(0).toUpperCase()}${text.slice(1)}.`,
    span: at?.written ? at.span : gapEnd === world ? facts.world.span : facts.root.modules.keySpan,
    related: [
      ...(isShared ? placed.map(spanRelated) : []),
      ...(before ? [spanRelated(before)] : []),
      ...(after ? [spanRelated(after)] : []),
    ],
    predicts: facts.mimoFlags
      ? flagsCoverPrediction(placed, world)
      : `Module grids must partition the world [0, ${world}) with no gaps, got ${rangesOf(placed)}`,
    fixes: [isShared ? sideBySideFix(facts, placed) : null, ...gapFixes(facts, placed, world, gap, before, after)],
  };
}

function gapFixes(
  facts: LayoutFacts,
  placed: readonly ModuleSpan[],
  world: number,
  { start, end }: RankSpan,
  before: ModuleSpan | undefined,
  after: ModuleSpan | undefined,
): (Fix | null)[] {
  const shrunk = end === world && start > 0 ? worldSizeEdits(facts, start) : null;
  return [
    before ? resizeFix(facts, before, end - before.start) : null,
    after ? extendDownFix(facts, after, start) : null,
    after ? shiftFix(facts, placed, { start, end }, world) : null,
    shrunk && suggestion(`Change world_size to ${start}`, shrunk),
  ];
}

/** Starts a module earlier and gives it the ranks in front of it. */
function extendDownFix(facts: LayoutFacts, after: ModuleSpan, to: number): Fix | null {
  const edits = placeEdits(facts, after, to, after.end);
  return edits && suggestion(`Start '${after.name}' at rank ${to}, with ${countOf(after.end - to, 'rank')}`, edits);
}

/** Moves every module behind a gap down by its size, and shrinks the world. */
function shiftFix(
  facts: LayoutFacts,
  placed: readonly ModuleSpan[],
  { start, end }: RankSpan,
  world: number,
): Fix | null {
  const by = end - start;
  const moved = placed
    .filter((one) => one.start >= end)
    .flatMap((one) => placeEdits(facts, one, one.start - by, one.end - by) ?? [null]);
  const edits = [...moved, ...(worldSizeEdits(facts, world - by) ?? [null])];
  return suggestion(`Close the gap and change world_size to ${world - by}`, edits);
}
