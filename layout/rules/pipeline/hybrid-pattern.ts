import type { LayoutFacts } from '../../topology/facts';
import { lossOf, type StagePlan, stagePlans } from '../../topology/stages';
import { removeFix } from '../fixes';
import { countOf, eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { job, megatron, type Report, type Rule, stopsLater, VALIDATE_ARGS } from '../rule';
import { explain, type Words } from './stages';

export const hybridPattern: Rule = {
  code: 'hybrid-pattern',
  severity: 'error',
  title: 'The hybrid layer pattern does not fit its pipeline',
  effect: 'Megatron-LM stops, or trains a model other than the one meant',
  what: '`hybrid_layer_pattern` holds a symbol that stands for no layer, mixes attention with MLA or sparse attention, has MTP depths that differ, a number of stages that `pp` does not divide, or stands beside another way to split the layers. A pattern with `E` layers and no `num_experts` is reported too, and `mtp_num_layers` beside a pattern without an MTP part.',
  why: 'A pattern is the whole architecture in one line, and each of its characters is a layer. Its `|` are the pipeline stages; a pattern without them is cut into equal runs.',
  failing: job(8, 'pp: 4', 'model: {hybrid_layer_pattern: MM*-|MM*-|MM*-}'),
  passing: job(8, 'pp: 4', 'model: {hybrid_layer_pattern: MM*-|MM*-|MM*-|MM*-}'),
  sources: [
    megatron(
      'megatron/core/models/hybrid/hybrid_layer_allocation.py',
      'parse_hybrid_pattern',
      'select_pipeline_segment',
    ),
    VALIDATE_ARGS,
  ],
  *check(facts) {
    for (const plan of stagePlans(facts)) {
      if (plan.pattern !== null) {
        yield* patternReports(facts, plan, plan.pattern);
      }
    }
  },
};

function* patternReports(facts: LayoutFacts, plan: StagePlan, pattern: string): Iterable<Report> {
  const { text } = facts;
  const model = plan.module.model.value;
  if (!model) {
    return;
  }
  const { num_layers: layers, num_experts: experts } = model;
  const field =
    [model.hybrid_layer_pattern, model.hybrid_override_pattern].find(({ written }) => written) ??
    model.mtp_hybrid_override_pattern;
  const { pp } = plan.module.fields;
  const base = {
    span: field.span,
    related: pp.written ? [valueRelated('pp', pp)] : [],
    fixes: [removeFix(text, 'hybrid_layer_pattern', field)],
  };
  if (plan.error) {
    yield { ...base, message: explained(plan), predicts: plan.error.checked ? plan.error.message : null };
    return;
  }
  if (plan.settings.numLayers === 0) {
    yield { ...base, message: 'The pattern holds no layer: Megatron-LM divides by zero. Write one symbol a layer.' };
  } else if (plan.covers === false) {
    yield {
      ...base,
      message: `Megatron-LM reports nothing, but ${lossOf(plan)}. Write the stages with '|'.`,
    };
  }
  const depths = plan.settings.mtp ?? 0;
  if (depths > 0 && !pattern.includes('/')) {
    yield {
      severity: 'warning',
      message: `mtp_num_layers is ${depths}, but the pattern has no MTP part, so Megatron-LM builds no MTP layer. Write the layers of each depth behind '/'.`,
      span: model.mtp_num_layers.span,
      related: [],
      fixes: [removeFix(text, 'mtp_num_layers', model.mtp_num_layers)],
    };
  }
  if (layers.value !== undefined && layers.value !== plan.settings.numLayers) {
    yield {
      severity: 'warning',
      message: `The pattern has ${plan.settings.numLayers} layers; Megatron-LM ignores num_layers ${layers.value}. Leave num_layers out.`,
      span: layers.span,
      fixes: [removeFix(text, 'num_layers', layers)],
    };
  }
  if (pattern.includes('E') && !experts.written) {
    yield {
      ...base,
      // the script takes it, whatever becomes of the layer
      severity: 'warning',
      message: `The pattern has MoE layers (E), but num_experts is not written. Write num_experts.${stopsLater(facts, 'builds the layer')}`,
    };
  }
}

function explained({ error, settings }: StagePlan): string {
  const { pp } = settings;
  const known: readonly Words[] = [
    [
      /^In \w+ pattern, '(.)'/su,
      (char) =>
        `'${char}' stands for no layer. Use M, G, *, D, +, -, E, with '|' between stages and '/' before MTP depths.`,
    ],
    [
      /^Not supported to have both/,
      'The pattern mixes attention (*) with MLA (+) or sparse attention (D). Use one of them.',
    ],
    [
      /^All MTP patterns [^,]*, but pattern (\d+)/,
      (depth) => `MTP depth ${depth} of the pattern differs from depth 1. Use the same layers for each depth.`,
    ],
    [
      / Got (\d+) segments/,
      (stages) =>
        `The pattern has ${countOf(Number(stages), 'stage')}, which pp ${pp} does not divide. Use ${eitherNumber(nearestMultiples(pp, Number(stages)))} stages.`,
    ],
    [
      /^Number of layers \((\d+)\)/,
      (layers) =>
        `The pattern has ${countOf(Number(layers), 'layer')} and no '|', and pp ${pp} does not divide them. Write its stages with '|', or use another pp.`,
    ],
    [/^If --hybrid/, 'The stages of the pattern leave no place for sizes of the first or last stage. Leave those out.'],
    [/^When interleaved/, "The pattern has several stages a rank, and pp is 1. Use pp 2 or more, or no '|'."],
    [
      /cannot both be specified/,
      'hybrid_override_pattern is the former name of hybrid_layer_pattern. Use one of them.',
    ],
    [/virtual/, 'The stages of the pattern give the number of virtual stages. Leave vpp out.'],
    [
      /should not be used with/,
      'The pattern excludes a pipeline layout and the account for embedding or loss. Leave those out.',
    ],
  ];
  return explain(
    error?.message ?? '',
    known,
    'The first or last stage leaves layers that the other stages cannot share. Use other sizes.',
  );
}
