import type { Span } from '../../diagnostic';
import { parseHybridPattern } from '../../topology/pipeline/hybridPattern';
import { attempt } from '../../topology/python';
import { patternOf } from '../../topology/stages';
import { takenOf, takenText } from '../../topology/taken';
import { setFix } from '../fixes';
import { valueRelated } from '../related';
import { job, type Rule, VALIDATE_ARGS } from '../rule';
import { type DescribedModel, eachModel } from './describedModels';

export const mtpPositions: Rule = {
  code: 'mtp-positions',
  severity: 'error',
  title: 'Multi-token prediction with another position embedding than rope',
  what: 'The model has MTP layers, by `mtp_num_layers` or by its hybrid pattern, and `position_embedding_type` is neither `rope` nor `none`. In a file that describes a whole training job and does not write it, the default of Megatron-LM, `learned_absolute`, is information.',
  why: 'An MTP layer reads positions further on, which a table of learned positions does not hold for it.',
  failing: job(8, 'tp: 1', 'model: {num_layers: 8, mtp_num_layers: 1, position_embedding_type: learned_absolute}'),
  sources: [VALIDATE_ARGS],
  check: eachModel(function* ({ module, model }, facts) {
    const { mtp_num_layers: layers, position_embedding_type: field } = model;
    const type = module.own
      ? { value: field.value, isDefault: false }
      : takenOf(facts, 'model', 'position_embedding_type');
    const pattern = patternOf(model);
    const parsed = pattern === null ? null : attempt(() => parseHybridPattern(pattern));
    const depths = parsed?.ok && parsed.value.mtpDepths > 0 ? parsed.value.mtpDepths : (layers.value ?? 0);
    const predicts = depths === 0 ? null : mtpRefusal(type.value);
    if (predicts !== null) {
      yield {
        ...(type.isDefault && { severity: 'information' }),
        message: `MTP does not run with ${takenText(type)} positions. Use rope or none.`,
        span: type.isDefault ? depthSpan(model) : field.span,
        related: layers.value === undefined ? [] : [valueRelated('mtp_num_layers', layers)],
        predicts,
        fixes: [setFix(facts.text, module.model.span, 'position_embedding_type', field, 'rope')],
      };
    }
  }),
};

/** The value that says that there are MTP layers. */
function depthSpan(model: DescribedModel['model']): Span {
  const { mtp_num_layers, hybrid_layer_pattern, hybrid_override_pattern } = model;
  const fields = [mtp_num_layers, hybrid_layer_pattern, hybrid_override_pattern];
  return (fields.find(({ written }) => written) ?? mtp_num_layers).span;
}

/** What Megatron-LM says of MTP layers with positions of a kind; null where it takes them, or the kind is not written. */
export function mtpRefusal(type: string | undefined): string | null {
  return type === undefined || type === 'rope' || type === 'none'
    ? null
    : `Multi-Token Prediction (MTP) is not supported with ${type} position embedding type.The supported position embedding types are rope and none.`;
}
