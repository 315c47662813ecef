import { job, PARALLEL_STATE, type Rule } from '../rule';
import { expertReplica, productReports } from './replica';

export const expertProduct: Rule = {
  code: 'expert-product',
  severity: 'error',
  title: 'expt_dp differs from the derived size',
  effect: 'Megatron-LM runs with another expt_dp than the file says',
  what: '`expt_dp` is derived: the ranks divided by `expt_tp * ep * expt_gtp_remat * pp`. The file writes another number.',
  why: 'Megatron-LM never reads `expt_dp`.',
  failing: job(16, 'tp: 2, ep: 4, expt_dp: 4'),
  sources: [PARALLEL_STATE],
  *check(facts) {
    for (const module of facts.modules) {
      if (module.dp !== undefined) {
        yield* productReports(facts, module, expertReplica(module), module.exptDp);
      }
    }
  },
};
