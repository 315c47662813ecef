import { nearest } from '../../format/nearest';
import { MODEL_NAMES, modelNamed } from '../../models';
import { changeFix } from '../fixes';
import { job, type Rule } from '../rule';
import { eachModel } from './describedModels';

export const unknownModel: Rule = {
  code: 'unknown-model',
  severity: 'information',
  title: 'A model whose sizes are not known',
  effect: 'nothing is checked that depends on its layers and heads',
  what: '`model.from` names a model that is not among the known public models, and `num_layers` is not written.',
  why: 'The pipeline divides the layers of a model and tensor parallelism its heads; without them neither is checked, and memory is not estimated.',
  failing: job(8, 'pp: 4', 'model: {from: example/unknown-model}'),
  passing: job(8, 'pp: 4', 'model: {from: Qwen/Qwen3-8B}'),
  check: eachModel(function* ({ model }) {
    const { from, num_layers: layers } = model;
    if (from.value !== undefined && !layers.written && !modelNamed(from.value)) {
      const likely = nearest(from.value, MODEL_NAMES);
      yield {
        message: `pp and tp are not checked: the layers of ${from.value} are not known. ${likely ? `Did you mean ${likely}?` : 'Write num_layers and num_attention_heads.'}`,
        span: from.span,
        fixes: [likely ? changeFix('from', from, likely) : null],
      };
    }
  }),
};
