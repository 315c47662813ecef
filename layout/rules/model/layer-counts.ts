import type { Field } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { removeFix } from '../fixes';
import { valueRelated } from '../related';
import { job, type Report, type Rule, VALIDATE_ARGS } from '../rule';
import { eachModel } from './describedModels';

export const layerCounts: Rule = {
  code: 'layer-counts',
  severity: 'error',
  title: 'num_layers or seq_length beside that of an encoder',
  what: '`num_layers` and `encoder_num_layers` are both written, or `seq_length` and `encoder_seq_length` of a whole training job.',
  why: 'An encoder-decoder model has `encoder_num_layers` and `decoder_num_layers`, any other `num_layers`; Megatron-LM takes the one for the other where it is missing.',
  failing: job(8, 'tp: 1', 'model: {num_layers: 12, encoder_num_layers: 12}'),
  passing: job(8, 'tp: 1', 'model: {encoder_num_layers: 12, decoder_num_layers: 12}'),
  sources: [VALIDATE_ARGS],
  check: eachModel(function* ({ module, model }, facts) {
    const sequence = module.sequence.value;
    yield* twiceReport(facts, 'num_layers', model, 'cannot have both num-layers and encoder-num-layers specified');
    // only the script compares them, by an assert without a message
    if (sequence && facts.trainingScript) {
      yield* twiceReport(facts, 'seq_length', sequence, '');
    }
  }),
};

/** A size beside that of the encoder. */
function* twiceReport<N extends string>(
  { text }: LayoutFacts,
  name: N,
  fields: Readonly<Record<N | `encoder_${N}` | `decoder_${N}`, Field<number>>>,
  predicts: string,
): Iterable<Report> {
  const [own, encoder] = [fields[name], fields[`encoder_${name}`]];
  if (own.value !== undefined && encoder.value !== undefined) {
    yield {
      message: `${name} and encoder_${name} exclude one another. Use encoder_${name} with decoder_${name}, or ${name} alone.`,
      span: encoder.span,
      related: [valueRelated(name, own)],
      predicts,
      fixes: [removeFix(text, `encoder_${name}`, encoder), removeFix(text, name, own)],
    };
  }
}
