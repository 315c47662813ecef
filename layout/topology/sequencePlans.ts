import { type LayoutFacts, valueOr } from './facts';
import { type SequencePlan, sequenceDivisor } from './sequence';

/** How the sequences of one module are spread; `module` is null for `parallelism`. */
export interface ModuleSequence {
  readonly module: string | null;
  readonly plan: SequencePlan;
}

/** Whether each context-parallel rank's share is cut among `tp` by itself, as GPT models do; multimodal ones cut the whole. */
export function scattersRankByRank({ trainingScript, framework, heterogeneous }: LayoutFacts): boolean {
  return !heterogeneous && (trainingScript || framework !== null);
}

/** The plan of every module whose sequence length is written and divides among its ranks. */
export function sequencePlans(facts: LayoutFacts): ModuleSequence[] {
  return facts.modules.flatMap(({ name, sequence, degrees }) => {
    const length = sequence.value?.seq_length.value;
    if (length === undefined || !degrees || !sequence.value) {
      return [];
    }
    const sequenceParallel = valueOr(sequence.value.sequence_parallel, false) ?? false;
    const plan = { length, cp: degrees.cp, tp: degrees.tp, sequenceParallel };
    return length % sequenceDivisor(plan, scattersRankByRank(facts)) === 0 ? [{ module: name, plan }] : [];
  });
}
