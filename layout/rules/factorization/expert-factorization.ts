import type { ModuleFacts } from '../../topology/facts';
import { job, megatron, PARALLEL_STATE, type Rule, stopsLater } from '../rule';
import { denseReplica, expertReplica, isUndivided, undividedReport } from './replica';

export const expertFactorization: Rule = {
  code: 'expert-factorization',
  severity: 'error',
  title: 'The ranks do not divide into whole expert replicas',
  what: 'The number of ranks is not a multiple of `expt_tp * ep * expt_gtp_remat * pp`. `ep` need not divide `dp`.',
  why: 'Experts have a grid of their own over the same ranks as the dense layers.',
  failing: job(16, 'tp: 2, ep: 3'),
  sources: [PARALLEL_STATE, megatron('examples/mimo/training/topology.py', 'ModuleGridSpec.__post_init__')],
  *check(facts) {
    for (const module of facts.modules) {
      const dense = denseReplica(module);
      const expert = expertReplica(module);
      // where the dense grid does not divide either, that diagnostic comes first and mostly names the same number
      if (expert && dense && !isUndivided(module, dense) && isUndivided(module, expert)) {
        const report = undividedReport(facts, module, expert, prediction(module));
        yield { ...report, message: `${report.message}${stopsLater(facts, 'makes its process groups')}` };
      }
    }
  },
};

function prediction({ name, ranks, expertModel }: ModuleFacts): string {
  return name === null
    ? `world_size (${ranks}) is not divisible by expert_tensor_model_pipeline_parallel size (${expertModel})`
    : `num_ranks (${ranks}) must be divisible by expt_tp*ep*expt_gtp_remat*pp (${expertModel})`;
}
