import { parseHybridPattern } from '../../topology/pipeline/hybrid-pattern';
import { attempt } from '../../topology/python';
import { patternOf } from '../../topology/stages';
import { job } from '../examples';
import { replaceFix } from '../fixes';
import { valueRelated } from '../related';
import type { Rule } from '../rule';
import { megatron } from '../source';
import { describedModels } from './describedModels';

export const mtpPositions: Rule = {
  code: 'mtp-positions',
  severity: 'error',
  title: 'Multi-token prediction with another position embedding than rope',
  effect: 'Megatron-LM stops on every rank',
  what: 'The model has MTP layers, by `mtp_num_layers` or by its hybrid pattern, and `position_embedding_type` is written and is neither `rope` nor `none`.',
  why: 'An MTP layer reads positions further on, which a table of learned positions does not hold for it.',
  failing: job(8, 'tp: 1', 'model: {num_layers: 8, mtp_num_layers: 1, position_embedding_type: learned_absolute}'),
  sources: [megatron('megatron/training/arguments.py', 'validate_args')],
  *check(facts) {
    for (const { model } of describedModels(facts)) {
      const { mtp_num_layers: layers, position_embedding_type: type } = model;
      const pattern = patternOf(model);
      const parsed = pattern === null ? null : attempt(() => parseHybridPattern(pattern));
      const depths = parsed?.ok && parsed.value.mtpDepths > 0 ? parsed.value.mtpDepths : (layers.value ?? 0);
      const predicts = depths === 0 ? null : mtpRefusal(type.value);
      if (predicts !== null) {
        yield {
          message: `MTP does not run with ${type.value} positions. Use rope or none.`,
          span: type.span,
          related: layers.value === undefined ? [] : [valueRelated('mtp_num_layers', layers)],
          predicts,
          fixes: [replaceFix(type.span, 'rope')],
        };
      }
    }
  },
};

/** What Megatron-LM says of MTP layers with positions of a kind; null where it takes them, or the kind is not written. */
export function mtpRefusal(type: string | undefined): string | null {
  return type === undefined || type === 'rope' || type === 'none'
    ? null
    : `Multi-Token Prediction (MTP) is not supported with ${type} position embedding type.The supported position embedding types are rope and none.`;
}
