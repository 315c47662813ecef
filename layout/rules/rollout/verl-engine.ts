import { valueOr } from '../../topology/facts';
import { isServed } from '../../topology/phases';
import { changeFix, changes } from '../fixes';
import { writtenRelated } from '../related';
import { inFramework, job, type Rule } from '../rule';

export const verlEngine: Rule = {
  code: 'verl-engine',
  severity: 'error',
  title: 'verl does not start an engine of these degrees',
  effect: 'verl stops when it reads its configuration',
  what: 'In a verl job, an engine has an `ep` above 1 that is not `tp * dp`, or a `pp` above 1.',
  why: 'verl spreads the experts of an engine over all of its ranks, and starts none of its engines with a pipeline.',
  failing: job(8, 'tp: 2', 'launch: {family: verl}', 'phases: {rollout: {engine: vllm, tp: 4, ep: 2}}'),
  sources: [inFramework('volcengine/verl', 'verl/workers/config/rollout.py', 'RolloutConfig.__post_init__')],
  *check({ root }) {
    for (const { name, value: phase } of root.phases.value ?? []) {
      if (!phase || !isServed(phase)) {
        continue;
      }
      const [tp, dp, pp, ep] = [phase.tp, phase.dp, phase.pp, phase.ep].map((field) => valueOr(field, 1) ?? 1);
      const ranks = (tp ?? 1) * (dp ?? 1);
      if (ep !== undefined && ep > 1 && ep !== ranks) {
        yield {
          message: `ep ${ep} of phase '${name}' is not tp ${tp}${(dp ?? 1) > 1 ? ` x dp ${dp}` : ''} = ${ranks}. Use ep ${ranks}, or 1.`,
          span: phase.ep.span,
          related: writtenRelated('tp', phase.tp),
          predicts: 'expert_parallel_size must be equal to tensor_model_parallel_size * data_parallel_size',
          fixes: [changeFix('ep', phase.ep, ranks), changeFix('ep', phase.ep, 1)],
        };
      } else if ((pp ?? 1) > 1) {
        yield {
          message: `verl starts no engine with a pipeline; pp of phase '${name}' is ${pp}. Use pp 1.`,
          ...changes('pp', phase.pp, 1),
          predicts: `Current rollout self.name='${phase.engine.value}' not implemented pipeline_model_parallel_size > 1 yet.`,
        };
      }
    }
  },
};
