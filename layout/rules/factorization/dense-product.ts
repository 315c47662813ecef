import { job, PARALLEL_STATE, type Rule } from '../rule';
import { denseReplica, productReports } from './replica';

export const denseProduct: Rule = {
  code: 'dense-product',
  severity: 'error',
  title: 'dp differs from the derived size',
  effect: 'Megatron-LM runs with another dp than the file says',
  what: '`dp` is derived: the ranks divided by `tp * gtp_remat * cp * pp`. The file writes another number.',
  why: 'Megatron-LM never reads `dp`, so batch arithmetic with the written size is wrong.',
  failing: job(16, 'tp: 4, dp: 2'),
  sources: [PARALLEL_STATE],
  *check(facts) {
    for (const module of facts.modules) {
      yield* productReports(facts, module, denseReplica(module), module.dp);
    }
  },
};
