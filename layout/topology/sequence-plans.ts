import { type LayoutFacts, valueOr } from './facts';
import { type SequencePlan, sequenceDivisor } from './sequence';

/** How the sequences of one module are spread; `module` is null for `parallelism`. */
export interface ModuleSequence {
  readonly module: string | null;
  readonly plan: SequencePlan;
}

/** The plan of every module whose sequence length is written and divides among its ranks. */
export function sequencePlans({ modules }: LayoutFacts): ModuleSequence[] {
  return modules.flatMap(({ name, sequence, degrees }) => {
    const length = sequence.value?.seq_length.value;
    if (length === undefined || !degrees || !sequence.value) {
      return [];
    }
    const sequenceParallel = valueOr(sequence.value.sequence_parallel, false) ?? false;
    const plan = { length, cp: degrees.cp, tp: degrees.tp, sequenceParallel };
    return length % sequenceDivisor(plan) === 0 ? [{ module: name, plan }] : [];
  });
}
