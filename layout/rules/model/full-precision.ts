import { grouped } from '../../format/quantities';
import { changes } from '../fixes';
import { job, type Rule, VALIDATE_ARGS } from '../rule';
import { eachModel } from './describedModels';

/** Below so many weights a job in fp32 may well be meant: a test, or a study of numerics. */
const LARGE_MODEL = 1e9;

export const fullPrecision: Rule = {
  code: 'full-precision',
  severity: 'information',
  title: 'A large model trains in fp32',
  effect: 'the job runs, several times slower than in bf16, with twice the weights and activations',
  what: '`params_dtype` of a model above a billion weights is `fp32`: what Megatron-LM takes where neither `--bf16` nor `--fp16` is given.',
  why: 'Matrix products in fp32 leave the fast paths of the tensor cores unused. The log then says `float32` where it lists the parameters, and nothing else tells.',
  failing: job(16, 'tp: 8', 'model: {num_layers: 80, hidden_size: 8192, params_dtype: fp32}'),
  sources: [VALIDATE_ARGS],
  check: eachModel(function* ({ model }) {
    const [layers, hidden] = [model.num_layers.value, model.hidden_size.value];
    // attention and an MLP of four times the hidden size; what else there is only adds to it
    const weights = layers === undefined || hidden === undefined ? 0 : 12 * layers * hidden * hidden;
    const type = model.params_dtype;
    if (type.value === 'fp32' && weights >= LARGE_MODEL) {
      yield {
        message: `The weights, ${grouped(Math.floor(weights / 1e9))} billion or more, and the matrix products are in fp32. Use params_dtype bf16 (--bf16).`,
        ...changes('params_dtype', type, 'bf16'),
      };
    }
  }),
};
