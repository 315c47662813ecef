import { removeField } from '../format/edit';
import type { Field } from '../format/spec';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { changeFix, suggestion } from './fixes';
import { countOf, divisors, either, nearestMultiples } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

/** The layers of one grid's model and how its pipeline cuts them. */
interface Pipeline {
  readonly module: ModuleFacts;
  readonly layers: Field<number>;
  readonly first: Field<number>;
  readonly last: Field<number>;
  readonly total: number;
  readonly pp: number;
  /** Model chunks a stage; undefined without interleaving. */
  readonly vpp: number | undefined;
}

function* pipelines({ root, modules, heterogeneous }: LayoutFacts): Iterable<Pipeline> {
  for (const module of modules) {
    const model = module.model.value;
    const total = model?.num_layers.value;
    const vpp = heterogeneous ? undefined : root.parallelism.value?.vpp;
    if (model && total !== undefined && module.degrees && (!vpp?.written || vpp.value !== undefined)) {
      const {
        num_layers: layers,
        num_layers_in_first_pipeline_stage: first,
        num_layers_in_last_pipeline_stage: last,
      } = model;
      if ([first, last].every((field) => !field.written || field.value !== undefined)) {
        yield { module, layers, first, last, total, pp: module.degrees.pp, vpp: vpp?.value };
      }
    }
  }
}

export const pipelineLayers: Rule = {
  code: 'pipeline-layers',
  severity: 'error',
  title: 'Layers that the pipeline stages do not take up',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`num_layers` is not a multiple of `pp`; or, with a first or last stage of another size, what remains does not divide among the stages between.',
  why: 'Stages hold whole layers. Some combinations pass every check and build a model with fewer layers than its author wrote: 30 layers have run as 28, and 80 as 64.',
  failing: `layout: 1
world_size: 16
parallelism:
  pp: 4
model:
  num_layers: 30
`,
  passing: `layout: 1
world_size: 16
parallelism:
  pp: 4
model:
  num_layers: 32
`,
  sources: [
    otherSource(
      '`validate_args` in megatron/training/arguments.py; `TransformerConfig.__post_init__` in megatron/core/transformer/transformer_config.py; `get_num_layers_to_build` in megatron/core/transformer/transformer_block.py',
    ),
  ],
  *check(facts) {
    for (const pipeline of pipelines(facts)) {
      if (pipeline.first.written || pipeline.last.written) {
        yield* unevenReports(facts, pipeline);
      } else if (pipeline.total % pipeline.pp !== 0) {
        yield evenReport(facts, pipeline);
      }
    }
  },
};

function evenReport(facts: LayoutFacts, { module, layers, total, pp, vpp }: Pipeline): Report {
  const { fields } = module;
  const stages = divisors(total)
    .filter((size) => size !== pp)
    .sort((a, b) => Math.abs(a - pp) - Math.abs(b - pp))
    .slice(0, 3);
  const more = nearestMultiples(pp, total);
  const kept = Math.floor(total / pp) * pp;
  return {
    message: `${countOf(total, 'layer')} cannot be laid in ${pp} equal pipeline stages: ${countOf(total - kept, 'layer')} would be lost. Use pp ${either([...stages].sort((a, b) => a - b))}, or ${either([...more].sort((a, b) => a - b))} layers.`,
    span: fields.pp.written ? fields.pp.span : layers.span,
    related: [{ message: `num_layers is ${total} here`, span: layers.span }],
    // with interleaving the script leaves this to the model
    predicts:
      facts.trainingScript && vpp === undefined
        ? 'Number of layers should be divisible by the pipeline-model-parallel size'
        : `num_layers=${total} should be divisible by config.pipeline_model_parallel_size=${pp}`,
    fixes: [
      ...(fields.pp.written ? stages.map((size) => changeFix('pp', fields.pp.span, size)) : []),
      ...more.map((n) => changeFix('num_layers', layers.span, n)),
    ],
  };
}

/** The checks of uneven stages, in the order in which TransformerConfig makes them. */
function* unevenReports(facts: LayoutFacts, pipeline: Pipeline): Iterable<Report> {
  const { first, last, total, pp, vpp, layers } = pipeline;
  const field = first.written ? first : last;
  const remove = [first, last].filter(({ written }) => written).map((one) => removeField(facts.text, one));
  const fixes = [suggestion('Make all stages equal', remove)];
  for (const [name, end] of [
    ['first', first],
    ['last', last],
  ] as const) {
    if (vpp !== undefined && end.value !== undefined && end.value % vpp !== 0) {
      const better = nearestMultiples(vpp, end.value);
      yield {
        message: `The ${name} stage has ${countOf(end.value, 'layer')}, which vpp ${vpp} cannot cut into equal chunks. Use ${either([...better].sort((a, b) => a - b))}.`,
        span: end.span,
        predicts: `number of layers at ${name} stage: ${end.value}must be divisible by virtual pipelineparallel degree ${vpp}`,
        fixes: [...better.map((n) => changeFix(`num_layers_in_${name}_pipeline_stage`, end.span, n)), ...fixes],
      };
      return;
    }
  }
  const middle = total - (first.value ?? 0) - (last.value ?? 0);
  const stages = pp - (first.written ? 1 : 0) - (last.written ? 1 : 0);
  const related = [{ message: `num_layers is ${total} here`, span: layers.span }];
  if ((middle !== 0) !== (stages !== 0)) {
    yield {
      message: `${countOf(middle, 'layer')} remain for ${countOf(stages, 'stage')} between the ends. Write ends that leave layers for every stage, and none where there is no stage.`,
      span: field.span,
      related,
      predicts: `Mismatch: ${middle} middle layers remaining but ${stages} middle PP stages available.`,
      fixes,
    };
  } else if (stages !== 0 && middle % stages !== 0) {
    yield {
      message: `${countOf(middle, 'layer')} remain for ${countOf(stages, 'stage')} between the ends, which does not come out even. Use ${either(
        nearestMultiples(Math.abs(stages), middle)
          .map((n) => total - middle + n)
          .sort((a, b) => a - b),
      )} layers in all, or other ends.`,
      span: field.span,
      related,
      predicts: `number of layers at middle stage: ${middle} must be divisible bythe middle pipeline model parallel size ${stages}`,
      fixes: [
        ...nearestMultiples(Math.abs(stages), middle).map((n) =>
          changeFix('num_layers', layers.span, total - middle + n),
        ),
        ...fixes,
      ],
    };
  } else if (vpp !== undefined && stages > 0 && (middle / stages) % vpp !== 0) {
    yield {
      message: `Each stage between the ends has ${countOf(middle / stages, 'layer')}, which vpp ${vpp} cannot cut into equal chunks.`,
      span: field.span,
      related,
      predicts: `number of layers on each middle pipeline rank:${middle / stages} must be divisible by virtualpipeline parallel degree ${vpp}`,
      fixes,
    };
  } else if (stages < 0 || middle < 0) {
    yield {
      message: `With pp ${pp} the ends overlap: Megatron-LM builds another number of layers than ${total} without a word. Leave the sizes of the ends out.`,
      span: field.span,
      related,
      fixes,
    };
  }
}

export const virtualPipelineLayers: Rule = {
  code: 'virtual-pipeline-layers',
  severity: 'error',
  title: 'Layers of a stage that vpp does not divide',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'The layers of one pipeline stage, `num_layers / pp`, are not a multiple of `vpp`.',
  why: 'The interleaved schedule cuts each stage into `vpp` chunks of whole layers. The configuration accepts it, and the model fails when it is built.',
  failing: `layout: 1
world_size: 16
parallelism:
  pp: 4
  vpp: 3
model:
  num_layers: 32
`,
  passing: `layout: 1
world_size: 16
parallelism:
  pp: 4
  vpp: 4
model:
  num_layers: 32
`,
  sources: [otherSource('`get_num_layers_to_build` in megatron/core/transformer/transformer_block.py')],
  *check(facts) {
    const field = facts.root.parallelism.value?.vpp;
    for (const { first, last, total, pp, vpp, layers } of pipelines(facts)) {
      const perStage = total / pp;
      if (
        field &&
        vpp !== undefined &&
        pp > 1 &&
        !first.written &&
        !last.written &&
        Number.isInteger(perStage) &&
        perStage % vpp !== 0
      ) {
        const better = divisors(perStage)
          .sort((a, b) => Math.abs(a - vpp) - Math.abs(b - vpp))
          .slice(0, 3);
        yield {
          message: `A stage has ${countOf(perStage, 'layer')}, which vpp ${vpp} cannot cut into equal chunks. Use vpp ${either([...better].sort((a, b) => a - b))}.`,
          span: field.span,
          related: [{ message: `num_layers is ${total} here`, span: layers.span }],
          predicts: `num_layers_per_pipeline_rank ${perStage}             should be divisible by vp_size ${vpp}`,
          fixes: better.map((size) => changeFix('vpp', field.span, size)),
        };
      }
    }
  },
};
