import type { LayoutFacts } from '../../topology/facts';
import { MAX_LAYOUT } from '../../topology/pipeline/layerLayout';
import { countIn, lossOf, type StagePlan, stagePlans } from '../../topology/stages';
import { removeFix, setFix } from '../fixes';
import { countOf, eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { job, megatron, type Report, type Rule, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';
import { explain, type Words } from './stages';

/** A repetition whose count a comma splits: `t*1,0` is ten layers. */
const SPLIT_COUNT = /\*\d+,\d/;

export const pipelineLayout: Rule = {
  code: 'pipeline-layout',
  severity: 'error',
  title: 'The pipeline layout does not hold the model',
  effect: 'Megatron-LM stops, or builds a model with other layers than the file says',
  what: '`pipeline_model_parallel_layout` cannot be read, has a number of stages that `pp` does not divide, does not hold every layer once and in order, or stands beside another way to split the layers.',
  why: 'A layout names each stage by hand, so one letter too many shifts every stage after it. Commas are removed before repetitions are written out, and parentheses do not nest.',
  failing: job(8, 'pp: 4, pipeline_model_parallel_layout: Ett|tt|tt|tL', 'model: {num_layers: 8}'),
  passing: job(8, 'pp: 4, pipeline_model_parallel_layout: Ett|tt|tt|ttL', 'model: {num_layers: 8}'),
  sources: [
    megatron('megatron/core/transformer/pipeline_parallel_layer_layout.py', 'PipelineParallelLayerLayout'),
    TRANSFORMER_CONFIG,
    VALIDATE_ARGS,
  ],
  *check(facts) {
    for (const plan of stagePlans(facts)) {
      if (plan.settings.layout !== null && plan.pattern === null) {
        yield* layoutReports(facts, plan);
      }
    }
  },
};

function* layoutReports(facts: LayoutFacts, plan: StagePlan): Iterable<Report> {
  const field = (plan.module.own ?? facts.root.parallelism.value)?.pipeline_model_parallel_layout;
  if (!field) {
    return;
  }
  const { layout } = plan.settings;
  const base = {
    span: field.span,
    related: relatedOf(plan),
    fixes: [removeFix(facts.text, 'pipeline_model_parallel_layout', field)],
  };
  if (plan.error) {
    const { model } = plan.module;
    const isMtp = plan.error.message.startsWith('Number of mtp layers');
    const fix =
      isMtp && model.value
        ? setFix(facts.text, model.span, 'mtp_num_layers', model.value.mtp_num_layers, countIn(layout, 'mtp') ?? 0)
        : null;
    yield {
      ...base,
      fixes: [fix, ...base.fixes],
      message: explained(plan),
      predicts: plan.error.checked ? plan.error.message : null,
    };
  } else if (plan.covers === false) {
    yield {
      ...base,
      message: `With pp ${plan.settings.pp} every chunk of the pipeline begins at layer 0, and Megatron-LM reports nothing: ${lossOf(plan)}. Use pp 2 or more, or one stage.`,
    };
  } else if (typeof layout === 'string' && SPLIT_COUNT.test(layout)) {
    yield {
      ...base,
      severity: 'warning',
      message: `Megatron-LM removes commas first, so '${SPLIT_COUNT.exec(layout)?.[0]}' repeats ${SPLIT_COUNT.exec(layout)?.[0].replace(/\D/g, '')} times. Write the number without a comma.`,
    };
  }
}

function relatedOf({ module, settings }: StagePlan) {
  const layers = module.model.value?.num_layers;
  const { pp } = module.fields;
  return [
    ...(pp.written ? [valueRelated('pp', pp)] : []),
    ...(layers?.written ? [valueRelated('num_layers', { ...layers, value: settings.numLayers })] : []),
  ];
}

function explained({ error, settings }: StagePlan): string {
  const { pp, numLayers, mtp, layout } = settings;
  const mtpLayers = countIn(layout, 'mtp') ?? 0;
  const known: readonly Words[] = [
    [
      /^Invalid layer character: (.)/su,
      (char) =>
        `'${char}' stands for no layer. Use E, t, m, L, '|', and the repetitions '(...)*n' and 'x*n', which do not nest.`,
    ],
    [
      /(?:num_stages=|len\(layout\)=)(\d+)/,
      (stages) =>
        `The layout has ${countOf(Number(stages), 'stage')}, which pp ${pp} does not divide. Use ${eitherNumber(nearestMultiples(pp, Number(stages)))} stages.`,
    ],
    [
      /^Number of decoder layers (\d+)/,
      (layers) =>
        `The layout holds ${countOf(Number(layers), 'decoder layer')}, and num_layers is ${numLayers}. Use as many 't' as there are layers.`,
    ],
    [
      /^Number of mtp layers/,
      `The layout holds ${countOf(mtpLayers, 'MTP layer')}, and mtp_num_layers is ${mtp === null ? `not written. Write mtp_num_layers ${mtpLayers} under model` : `${mtp}. Use as many 'm'`}.`,
    ],
    [/^The first layer must be/, "The layout must begin with the embedding. Use 'E' first."],
    [/^The last layer must be/, "The layout must end with the loss. Use 'L' last."],
    [/^(Embedding|Loss) must be/, "The embedding and the loss each stand once in a layout. Use one 'E' and one 'L'."],
    [/^decoder layers must be/, "An MTP layer stands before a decoder layer. Use 'm' after all 't'."],
    [
      /^Currently we restrict/,
      'MTP layers stand in another chunk than the last of their rank. Use the last virtual stage.',
    ],
    [/^All of the MTP layers/, 'The MTP layers stand in several stages. Use one stage for all of them.'],
    [/^Encoder layer/, 'A layout cannot hold encoder layers. Use decoder layers only.'],
    [
      /^pipeline_model_parallel_layout cannot be set/,
      'A pipeline layout excludes the sizes of the first and last stage and the account for embedding and loss. Use one of them.',
    ],
    [
      /conflicts with pipeline_model_parallel_layout|^No more than one/,
      'The layout gives the number of virtual stages itself. Leave vpp out.',
    ],
    [
      /^When interleaved schedule/,
      'The layout has several stages a rank, and pp is 1. Use pp 2 or more, or one stage.',
    ],
    [/^float division/, "The layout holds no decoder layer: Megatron-LM divides by zero. Write one 't' a layer."],
    [/^list index/, 'The layout is empty. Write its stages, or leave it out.'],
    [/longer than/, `The layout has more than ${countOf(MAX_LAYOUT, 'layer')}. Use smaller repetitions.`],
    [
      /^pipeline_model_parallel_layout must be a list/,
      'A layout that is a list holds a list of layers for each stage. Write every stage as a list.',
    ],
    [
      /is not a valid LayerType|must be LayerType/,
      'A stage holds what is no layer. Use embedding, decoder, mtp and loss.',
    ],
  ];
  return explain(
    error?.message ?? '',
    known,
    'Megatron-LM refuses this pipeline layout. Leave it out, or write it anew.',
  );
}
