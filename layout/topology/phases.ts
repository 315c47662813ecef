import type { PhaseKeys } from '../format/keys';
import type { NamedField, Section } from '../format/spec';
import { type LayoutFacts, valueOr } from './facts';

/** The ranks of one phase: `[start, end)`. Engines with GPUs of their own are counted behind the world of the trainer. */
export interface PhaseSpan {
  readonly field: NamedField<Section<PhaseKeys>>;
  readonly phase: Section<PhaseKeys>;
  readonly start: number;
  readonly end: number;
  readonly isApart: boolean;
}

/** The phases whose ranks are known and lie in the world, or beside it. */
export function* phaseSpans(facts: LayoutFacts): Iterable<PhaseSpan> {
  for (const field of facts.root.phases.value ?? []) {
    const phase = field.value;
    const place = phase && phasePlace(facts, phase);
    const end = place ? place.start + place.ranks : 0;
    if (place && place.ranks > 0 && (place.isApart || end <= (facts.world.size ?? 0))) {
      yield { field, phase, start: place.start, end, isApart: place.isApart };
    }
  }
}

/** Where a phase runs, as far as the file says; null where that is open. */
export function phasePlace(
  { root, world }: LayoutFacts,
  phase: Section<PhaseKeys>,
): (Pick<PhaseSpan, 'start' | 'isApart'> & { readonly ranks: number }) | null {
  const rl = root.rl.value;
  const start = valueOr(phase.rank_offset, 0);
  if (world.size === undefined || start === undefined) {
    return null;
  }
  const own = rl?.rollout_gpus;
  const isShared = rl?.colocated.value ?? own?.written !== true;
  if (isServed(phase) && !isShared) {
    return own?.value === undefined ? null : { start: world.size, ranks: own.value, isApart: true };
  }
  const ranks = phase.num_ranks.written ? phase.num_ranks.value : world.size - start;
  return ranks === undefined ? null : { start, ranks, isApart: false };
}

/** Whether an inference engine runs a phase, which lays out its ranks itself. */
export function isServed(phase: Section<PhaseKeys>): boolean {
  const engine = valueOr(phase.engine, 'megatron');
  return engine === 'vllm' || engine === 'sglang';
}
