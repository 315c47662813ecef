import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { verlEngine } from './verl-engine';

test('verl-engine', () => {
  const of = (engine: string, family = 'verl') =>
    job(16, 'tp: 2', `launch: {family: ${family}}`, `phases: {rollout: {engine: vllm, ${engine}}}`);
  const said = reports(verlEngine, {
    'experts over all ranks of an engine': of('tp: 4, dp: 2, ep: 8'),
    'experts over some of them': of('tp: 4, dp: 2, ep: 4'),
    'a pipeline': of('tp: 2, pp: 2'),
    'a phase that trains': job(16, 'tp: 2', 'launch: {family: verl}', 'phases: {reference: {tp: 2, pp: 2}}'),
    'another framework': of('tp: 4, ep: 2', 'slime'),
  });
  expect(said).toMatchInlineSnapshot(`
    "experts over some of them: error at "4": ep 4 of phase 'rollout' is not tp 4 x dp 2 = 8. Use ep 8, or 1.
      = verl: expert_parallel_size must be equal to tensor_model_parallel_size * data_parallel_size
      = at "4": tp is 4 here
      = suggestion: Change ep to 8: phases: {rollout: {engine: vllm, tp: 4, dp: 2, ep: [-4-]{+8+}}}
      = suggestion: Change ep to 1: phases: {rollout: {engine: vllm, tp: 4, dp: 2, ep: [-4-]{+1+}}}
    a pipeline: error at "2": verl starts no engine with a pipeline; pp of phase 'rollout' is 2. Use pp 1.
      = verl: Current rollout self.name='vllm' not implemented pipeline_model_parallel_size > 1 yet.
      = suggestion: Change pp to 1: phases: {rollout: {engine: vllm, tp: 2, pp: [-2-]{+1+}}}"
  `);
});
