import { changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { degreeRelated } from '../related';
import { job, megatron, type Rule } from '../rule';
import { eachModel } from './describedModels';

export const ffnShards: Rule = {
  code: 'ffn-shards',
  severity: 'warning',
  title: 'tp does not divide the feed-forward width',
  effect: 'layers that cut this width across tensor-parallel ranks cannot be built',
  what: '`ffn_hidden_size` is not a multiple of `tp`, or `moe_ffn_hidden_size` is not a multiple of `expt_tp`.',
  why: 'The configuration accepts any width. The tensor-parallel linear layers cut it into equal parts and stop where it does not come out even.',
  failing: job(16, 'tp: 8', 'model: {ffn_hidden_size: 1860}'),
  sources: [
    megatron('megatron/core/tensor_parallel/layers.py', 'ColumnParallelLinear', 'RowParallelLinear'),
    megatron('megatron/core/utils.py', 'divide'),
  ],
  check: eachModel(function* ({ module, model, degrees }) {
    const widths = [
      { name: 'ffn_hidden_size', field: model.ffn_hidden_size, by: 'tp' as const, size: degrees.tp },
      { name: 'moe_ffn_hidden_size', field: model.moe_ffn_hidden_size, by: 'expt_tp' as const, size: degrees.exptTp },
    ];
    for (const { name, field, by, size } of widths) {
      if (field.value !== undefined && field.value % size !== 0) {
        const better = nearestMultiples(size, field.value);
        yield {
          message: `${by} ${size} does not divide ${name} ${field.value}. Use ${name} ${eitherNumber(better)}.`,
          ...changes(name, field, ...better),
          related: degreeRelated(module, by),
        };
      }
    }
  }),
};
