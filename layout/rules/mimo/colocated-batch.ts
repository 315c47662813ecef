import { LANGUAGE_MODULE } from '../../format/names';
import { bridgeShape } from '../../topology/bridge';
import { changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { megatron, modules, type Rule } from '../rule';
import { mimoOf } from './mimo';

export const colocatedBatch: Rule = {
  code: 'colocated-batch',
  severity: 'error',
  title: 'The bridge cannot split the micro-batch',
  effect: 'Megatron-LM stops in the first step',
  what: 'For modules that share their ranks: `micro_batch_size` is not divisible by the scale of the bridge, the ratio of the two `dp` sizes.',
  why: 'The bridge splits the batch of the side with fewer replicas among the ranks of the other.',
  failing: `${modules(4, 'images: {num_ranks: 4, tp: 1}', 'language: {num_ranks: 4, tp: 4}')}batch: {micro_batch_size: 2, global_batch_size: 8}\n`,
  sources: [
    megatron('megatron/core/models/mimo/comm/colocated_communicator.py', 'ColocatedBridgeCommunicator.get_slice_info'),
  ],
  *check(facts) {
    const mimo = mimoOf(facts);
    const micro = facts.root.batch.value?.micro_batch_size;
    if (!mimo?.colocated || micro?.value === undefined) {
      return;
    }
    for (const { name, dp } of mimo.encoders) {
      const shape = dp && mimo.language.dp ? bridgeShape(dp, mimo.language.dp) : null;
      if (shape && micro.value % shape.scale !== 0) {
        const sizes = nearestMultiples(shape.scale, micro.value);
        yield {
          message: `micro_batch_size ${micro.value} cannot be split ${shape.scale} ways between '${name}' (dp ${dp}) and '${LANGUAGE_MODULE}' (dp ${mimo.language.dp}). Use micro_batch_size ${eitherNumber(sizes)}.`,
          ...changes('micro_batch_size', micro, ...sizes),
          related: [{ message: `'${LANGUAGE_MODULE}' has dp ${mimo.language.dp}`, span: mimo.language.nameSpan }],
          predicts: `ColocatedBridgeCommunicator: batch dim size ${micro.value} is not divisible by ${shape.direction} scale=${shape.scale}.`,
        };
      }
    }
  },
};
