import { changes } from '../fixes';
import { countOf, eitherNumber, nearestDivisors } from '../numbers';
import { valueRelated } from '../related';
import { job, megatron, type Rule, stopsLater } from '../rule';
import { pipelines } from './stages';

export const virtualPipelineLayers: Rule = {
  code: 'virtual-pipeline-layers',
  severity: 'error',
  title: 'vpp does not divide the layers of a stage',
  effect: 'Megatron-LM stops when it builds the model',
  what: 'The layers of one pipeline stage, `num_layers / pp`, are not a multiple of `vpp`.',
  why: 'The interleaved schedule cuts each stage into `vpp` chunks of whole layers. The configuration accepts any `vpp`.',
  failing: job(16, 'pp: 4, vpp: 3', 'model: {num_layers: 32}'),
  sources: [megatron('megatron/core/transformer/transformer_block.py', 'get_num_layers_to_build')],
  *check(facts) {
    const field = facts.root.parallelism.value?.vpp;
    for (const { first, last, total, pp, vpp, layers, layersName } of pipelines(facts)) {
      const perStage = total / pp;
      const isEven = pp > 1 && !first.written && !last.written && Number.isInteger(perStage);
      if (field && vpp !== undefined && isEven && perStage % vpp !== 0) {
        const better = nearestDivisors(perStage, vpp, 3);
        yield {
          message: `vpp ${vpp} does not divide the ${countOf(perStage, 'layer')} of a stage. Use vpp ${eitherNumber(better)}.${stopsLater(facts, 'builds the model')}`,
          ...changes('vpp', field, ...better),
          related: [valueRelated(layersName, layers)],
          predicts: `num_layers_per_pipeline_rank ${perStage}             should be divisible by vp_size ${vpp}`,
        };
      }
    }
  },
};
