import type { Edit, Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import { gapsBetween, type RankSpan } from '../../grid/spans';
import type { LayoutFacts } from '../../topology/facts';
import { suggestion, worldSizeEdits } from '../fixes';
import { both, countOf } from '../numbers';
import type { Report, Rule } from '../rule';
import { megatron } from '../source';
import { flagsCoverPrediction } from './flags';
import { coverageOf, type ModuleSpan, rangesOf, rangeText, spanRelated } from './spans';

export const worldGap: Rule = {
  code: 'world-gap',
  severity: 'error',
  title: 'Some ranks belong to no module',
  effect: 'Megatron-LM stops on every rank',
  what: 'The modules together do not cover every rank of `[0, world_size)`.',
  why: 'A rank without a module has nothing to run: its GPU would stand idle.',
  failing: `layout: 1
world_size: 8
modules:
  images: {num_ranks: 2, tp: 2}
  language: {rank_offset: 4, num_ranks: 4, tp: 2}
`,
  sources: [megatron('examples/mimo/training/topology.py', 'create_topology')],
  *check(facts) {
    const coverage = coverageOf(facts);
    // ranks that are shared wrongly come first
    if (!coverage?.fits || coverage.world === undefined || !(coverage.colocated || coverage.pairs.length === 0)) {
      return;
    }
    const { placed, world } = coverage;
    const gaps = gapsBetween(placed, world);
    if (gaps.length > 0) {
      yield gapReport(facts, placed, world, gaps);
    }
  },
};

function gapReport(
  facts: LayoutFacts,
  placed: readonly ModuleSpan[],
  world: number,
  gaps: readonly RankSpan[],
): Report {
  const missing = gaps.reduce((n, { start, end }) => n + end - start, 0);
  const shown = gaps.slice(0, 4).map(({ start, end }) => rangeText(start, end));
  const more = gaps.length > shown.length ? [`${gaps.length - shown.length} more ranges`] : [];
  const gap = gaps[0] ?? { start: 0, end: 0 };
  const { start: gapStart, end: gapEnd } = gap;
  const before = placed.find(({ end }) => end === gapStart);
  const after = placed.find(({ start }) => start === gapEnd);
  const ways = [
    ...(before ? [`grow \`${before.name}\` by ${countOf(gapEnd - gapStart, 'rank')}`] : []),
    ...(after ? [`start \`${after.name}\` at rank ${gapStart}`] : []),
    ...(gapEnd === world ? [`use world_size ${gapStart}`] : []),
  ];
  const at = after?.module.own?.rank_offset;
  return {
    message: `No module has ${both([...shown, ...more])}${gaps.length > 1 ? ` (${countOf(missing, 'rank')})` : ''}. ${sentenceOf(ways)}`,
    span: at?.written ? at.span : gapEnd === world ? facts.world.span : facts.root.modules.keySpan,
    related: [...(before ? [spanRelated(before)] : []), ...(after ? [spanRelated(after)] : [])],
    predicts: facts.mimoFlags
      ? flagsCoverPrediction(placed, world)
      : `Module grids must partition the world [0, ${world}) with no gaps, got ${rangesOf(placed)}`,
    fixes: gapFixes(facts, placed, world, gap, before, after),
  };
}

function sentenceOf(ways: readonly string[]): string {
  const text = ways.join(', or ');
  return text === '' ? 'Cover every rank.' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function gapFixes(
  facts: LayoutFacts,
  placed: readonly ModuleSpan[],
  world: number,
  { start: gapStart, end: gapEnd }: RankSpan,
  before: ModuleSpan | undefined,
  after: ModuleSpan | undefined,
): Fix[] {
  const size = gapEnd - gapStart;
  const grown = before ? growFixes(facts, before, before.end - before.start + size) : [];
  const extended = after ? extendDownFixes(facts, after, gapStart) : [];
  const shifted = after ? shiftFixes(facts, placed, gapEnd, size, world) : [];
  const shrunk = gapEnd === world ? worldSizeEdits(facts, gapStart) : null;
  return [
    ...grown,
    ...extended,
    ...shifted,
    ...(shrunk && gapStart > 0 ? [suggestion(`Change world_size to ${gapStart}`, shrunk)] : []),
  ];
}

/** Gives a module more ranks: `num_ranks` and, where it is written, `dp` along with it. */
function growFixes(facts: LayoutFacts, { module, name }: ModuleSpan, ranks: number): Fix[] {
  const { own, denseModel } = module;
  if (!own || denseModel === undefined || ranks % denseModel !== 0) {
    return [];
  }
  const edits: (Edit | null)[] = [
    own.num_ranks.written ? setKey(facts.text, own.num_ranks.span, 'num_ranks', own.num_ranks, ranks) : null,
    own.dp.written ? setKey(facts.text, own.dp.span, 'dp', own.dp, ranks / denseModel) : null,
  ];
  return [
    suggestion(
      `Grow \`${name}\` to ${countOf(ranks, 'rank')}`,
      edits.filter((edit) => edit !== null),
    ),
  ];
}

/** Starts a module earlier and gives it the ranks in front of it. */
function extendDownFixes(facts: LayoutFacts, after: ModuleSpan, to: number): Fix[] {
  const offset = after.module.own?.rank_offset;
  const grow = growFixes(facts, after, after.end - to)[0];
  if (!offset?.written || !grow) {
    return [];
  }
  return [
    suggestion(`Start \`${after.name}\` at rank ${to} and grow it to ${countOf(after.end - to, 'rank')}`, [
      { span: offset.span, newText: String(to) },
      ...grow.edits,
    ]),
  ];
}

/** Moves every module behind a gap down by its size, and shrinks the world. */
function shiftFixes(facts: LayoutFacts, placed: readonly ModuleSpan[], from: number, by: number, world: number): Fix[] {
  const edits: Edit[] = [];
  for (const { module, start } of placed) {
    const offset = module.own?.rank_offset;
    if (start >= from) {
      if (!offset?.written) {
        return [];
      }
      edits.push({ span: offset.span, newText: String(start - by) });
    }
  }
  const shrunk = worldSizeEdits(facts, world - by);
  return shrunk ? [suggestion(`Close the gap and change world_size to ${world - by}`, [...edits, ...shrunk])] : [];
}
