import { valueOr } from '../../topology/facts';
import { countOf } from '../numbers';
import type { Report, Rule } from '../rule';
import { megatron } from '../source';

export const phaseFactorization: Rule = {
  code: 'phase-factorization',
  severity: 'error',
  title: 'The degrees of a phase do not divide its ranks',
  effect: 'the phase stops on every rank',
  what: '`tp * gtp_remat * cp * pp` or `expt_tp * ep * pp` of a phase does not divide its ranks, or its ranks lie beyond the world.',
  why: 'Each phase of a reinforcement-learning job lays its own grid over the GPUs that phases share.',
  failing: `layout: 1
world_size: 8
parallelism: {tp: 2}
phases: {rollout: {engine: vllm, tp: 3}}
`,
  passing: `layout: 1
world_size: 8
parallelism: {tp: 2}
phases: {rollout: {engine: vllm, tp: 4}}
`,
  sources: [megatron('megatron/core/parallel_state.py', 'initialize_model_parallel')],
  *check({ root, world }) {
    for (const { name, value: phase, keySpan } of root.phases.value ?? []) {
      const offset = phase && valueOr(phase.rank_offset, 0);
      if (!phase || offset === undefined || world.size === undefined) {
        continue;
      }
      const [tp, gtp, cp, pp, ep] = [phase.tp, phase.gtp_remat, phase.cp, phase.pp, phase.ep].map(
        (field) => valueOr(field, 1) ?? 1,
      ) as [number, number, number, number, number];
      const ranks = phase.num_ranks.written ? phase.num_ranks.value : world.size - offset;
      if (ranks === undefined) {
        continue;
      }
      const dense = tp * gtp * cp * pp;
      // vLLM and SGLang spread experts over the ranks of tp
      const serves = valueOr(phase.engine, 'megatron') !== 'megatron';
      const exptTp = valueOr(phase.expt_tp, serves ? Math.max(1, Math.floor(tp / ep)) : tp) ?? tp;
      const expert = exptTp * ep * pp;
      const report = (message: string): Report => ({ message, span: keySpan });
      if (offset + ranks > world.size || ranks <= 0) {
        yield report(
          `Phase '${name}' ends at rank ${offset + ranks}, beyond the world of ${world.size}. Use fewer ranks.`,
        );
      } else if (ranks % dense !== 0) {
        yield report(
          `${problemOf(ranks, 'a replica', { tp, gtp_remat: gtp, cp, pp })} Use other degrees for phase '${name}'.`,
        );
      } else if (ep > 1 && ranks % expert !== 0) {
        yield report(
          `${problemOf(ranks, 'an expert replica', { expt_tp: exptTp, ep, pp })} Use another ep for phase '${name}'.`,
        );
      }
    }
  },
};

/** `tp 3 does not divide its 8 ranks.`, without factors of 1. */
function problemOf(ranks: number, title: string, sizes: Readonly<Record<string, number>>): string {
  const factors = Object.entries(sizes).filter(([, size]) => size > 1);
  const product = factors.map(([name, size]) => `${name} ${size}`).join(' x ');
  const all = factors.reduce((total, [, size]) => total * size, 1);
  return factors.length < 2
    ? `${product} does not divide ${countOf(ranks, 'rank')}.`
    : `${product} = ${countOf(all, 'rank')} ${title}, which does not divide ${ranks}.`;
}
