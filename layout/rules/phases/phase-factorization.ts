import type { Span } from '../../diagnostic';
import type { PhaseKeys } from '../../format/keys';
import type { Section } from '../../format/spec';
import { valueOr } from '../../topology/facts';
import { isServed, phasePlace } from '../../topology/phases';
import { culpritOf, type Factor, fittingSizes, problemOf, type ReplicaRanks } from '../factorization/replica';
import { changeFix } from '../fixes';
import { eitherNumber } from '../numbers';
import { job, PARALLEL_STATE, type Report, type Rule } from '../rule';

export const phaseFactorization: Rule = {
  code: 'phase-factorization',
  severity: 'error',
  title: 'The degrees of a phase do not divide its ranks',
  effect: 'the phase stops on every rank',
  what: '`tp * gtp_remat * cp * pp * ulysses` or `expt_tp * ep * pp` of a phase does not divide its ranks, or its ranks lie beyond the world.',
  why: 'Each phase of a reinforcement-learning job lays its own grid over the GPUs that phases share.',
  failing: job(8, 'tp: 2', 'phases: {rollout: {engine: vllm, tp: 3}}'),
  sources: [PARALLEL_STATE],
  *check(facts) {
    for (const { name, value: phase, keySpan } of facts.root.phases.value ?? []) {
      const place = phase && phasePlace(facts, phase);
      // engines on GPUs of their own are judged by rollout-gpus
      if (!place || place.isApart) {
        continue;
      }
      const { start, ranks } = place;
      const size = facts.world.size ?? 0;
      if (start + ranks > size || ranks <= 0) {
        yield {
          message: `Phase '${name}' ends at rank ${start + ranks}, beyond the world of ${size}. Use fewer ranks.`,
          span: keySpan,
        };
        continue;
      }
      const replica = replicasOf(phase).find((one) => ranks % one.ranks !== 0);
      if (replica) {
        yield undividedReport(replica, ranks, name, keySpan);
      }
    }
  },
};

/** A replica of the phase, and one of its experts. */
function replicasOf(phase: Section<PhaseKeys>): ReplicaRanks[] {
  const factor = (name: 'tp' | 'gtp_remat' | 'cp' | 'pp' | 'ep' | 'ulysses'): Factor => ({
    name,
    size: valueOr(phase[name], 1) ?? 1,
    field: phase[name],
  });
  const [tp, pp, ep] = [factor('tp'), factor('pp'), factor('ep')];
  // vLLM and SGLang spread experts over the ranks of tp
  const exptTp = {
    name: 'expt_tp',
    size: valueOr(phase.expt_tp, isServed(phase) ? Math.max(1, Math.floor(tp.size / ep.size)) : tp.size) ?? tp.size,
    field: phase.expt_tp,
  };
  const replica = (title: string, ...factors: readonly Factor[]): ReplicaRanks => ({
    title,
    factors,
    ranks: factors.reduce((product, { size }) => product * size, 1),
  });
  return [
    replica('a replica', tp, factor('gtp_remat'), factor('cp'), pp, factor('ulysses')),
    ...(ep.size > 1 ? [replica('an expert replica', exptTp, ep, pp)] : []),
  ];
}

function undividedReport(replica: ReplicaRanks, ranks: number, name: string, keySpan: Span): Report {
  const culprit = culpritOf(replica, ranks);
  const better = culprit ? fittingSizes(replica, culprit, ranks) : [];
  const advice = culprit ? `${culprit.name} ${eitherNumber(better)}` : 'other degrees';
  return {
    message: `${problemOf(replica, ranks)} Use ${advice} for phase '${name}'.`,
    span: culprit?.field.span ?? keySpan,
    fixes: culprit ? better.map((size) => changeFix(culprit.name, culprit.field, size)) : [],
  };
}
