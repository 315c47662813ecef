import type { PhaseKeys } from '../format/keys';
import type { NamedField, Section } from '../format/spec';
import { type LayoutFacts, valueOr } from './facts';

/** The ranks of one phase: `[start, end)`. */
export interface PhaseSpan {
  readonly field: NamedField<Section<PhaseKeys>>;
  readonly phase: Section<PhaseKeys>;
  readonly start: number;
  readonly end: number;
}

/** The phases whose ranks are known and lie in the world. */
export function* phaseSpans({ root, world }: LayoutFacts): Iterable<PhaseSpan> {
  for (const field of root.phases.value ?? []) {
    const phase = field.value;
    const start = phase && valueOr(phase.rank_offset, 0);
    if (!phase || start === undefined || world.size === undefined) {
      continue;
    }
    const ranks = phase.num_ranks.written ? phase.num_ranks.value : world.size - start;
    if (ranks !== undefined && ranks > 0 && start + ranks <= world.size) {
      yield { field, phase, start, end: start + ranks };
    }
  }
}

/** Whether an inference engine runs a phase, which lays out its ranks itself. */
export function isServed(phase: Section<PhaseKeys>): boolean {
  const engine = valueOr(phase.engine, 'megatron');
  return engine === 'vllm' || engine === 'sglang';
}
