import type { Edit, Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import type { LayoutFacts } from '../../topology/facts';
import { suggestion, worldSizeEdits } from '../fixes';
import { countOf } from '../numbers';
import type { ModuleSpan } from './spans';

/**
 * The edits that put a module on the ranks `[start, end)`: its offset, and `num_ranks` and `dp` where they are written. Null
 * where whole replicas do not fill the ranks.
 */
export function placeEdits(
  { text }: LayoutFacts,
  { module, ...now }: ModuleSpan,
  start: number,
  end: number,
): Edit[] | null {
  const { own, denseModel, expertModel = 1 } = module;
  const ranks = end - start;
  if (!own || denseModel === undefined || ranks <= 0 || ranks % denseModel !== 0 || ranks % expertModel !== 0) {
    return null;
  }
  const isResized = ranks !== now.end - now.start;
  const edits = [
    start === now.start ? null : setKey(text, module.span, 'rank_offset', own.rank_offset, start),
    isResized && own.num_ranks.written ? { span: own.num_ranks.span, newText: String(ranks) } : null,
    isResized && own.dp.written ? { span: own.dp.span, newText: String(ranks / denseModel) } : null,
  ];
  return edits.filter((edit) => edit !== null);
}

/** Gives each module ranks of its own, in the order of the file, in a world that holds them all. */
export function sideBySideFix(facts: LayoutFacts, placed: readonly ModuleSpan[]): Fix | null {
  const sizes = placed.map(({ start, end }) => end - start);
  const startOf = (i: number) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0);
  const world = startOf(placed.length);
  const isGrown = world !== facts.world.size;
  const edits = placed.map((one, i) => placeEdits(facts, one, startOf(i), startOf(i + 1)));
  const all = [...edits, isGrown ? worldSizeEdits(facts, world) : []];
  return suggestion(
    `Lay the modules side by side${isGrown ? ` and change world_size to ${world}` : ''}`,
    all.flatMap((one) => one ?? [null]),
  );
}

/** Gives a module another number of ranks from the same first one; null where whole replicas do not fill them. */
export function resizeFix(facts: LayoutFacts, one: ModuleSpan, ranks: number): Fix | null {
  const edits = placeEdits(facts, one, one.start, one.start + ranks);
  return edits && suggestion(`Give '${one.name}' ${countOf(ranks, 'rank')}`, edits);
}
