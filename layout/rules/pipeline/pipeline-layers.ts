import type { Fix } from '../../diagnostic';
import { removeFields } from '../../format/edit';
import type { LayoutFacts } from '../../topology/facts';
import { lossOf, type StagePlan, stagePlanOf } from '../../topology/stages';
import { changeFix, setFix, suggestion } from '../fixes';
import { countOf, eitherNumber, nearestDivisors, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { job, megatron, type Report, type Rule, stopsLater, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';
import { type Pipeline, pipelines } from './stages';

export const pipelineLayers: Rule = {
  code: 'pipeline-layers',
  severity: 'error',
  title: 'The layers do not divide into pipeline stages',
  effect: 'Megatron-LM stops, or builds a model with other layers than the file says',
  what: '`num_layers` is not a multiple of `pp`. Where the first or last stage has a size of its own, the layers that it leaves do not divide among the other stages.',
  why: 'Stages hold whole layers. Some combinations pass every check and build a model with fewer layers than its author wrote: 30 layers have run as 28, and 80 as 64.',
  failing: job(16, 'pp: 4', 'model: {num_layers: 30}'),
  sources: [
    VALIDATE_ARGS,
    TRANSFORMER_CONFIG,
    megatron('megatron/core/transformer/transformer_block.py', 'get_num_layers_to_build'),
  ],
  *check(facts) {
    for (const pipeline of pipelines(facts)) {
      if (!pipeline.first.written && !pipeline.last.written) {
        yield* evenReports(facts, pipeline);
        continue;
      }
      const report = uneven(facts, pipeline);
      if (report) {
        yield report;
      }
    }
  },
};

function* evenReports(facts: LayoutFacts, pipeline: Pipeline): Iterable<Report> {
  const { module, layers, layersName, total, pp, vpp, last } = pipeline;
  if (total % pp === 0) {
    return;
  }
  const field = module.fields.pp;
  const sizes = nearestDivisors(total, pp, 3).filter((size) => size >= pp / 2 && size <= pp * 2);
  const more = nearestMultiples(pp, total);
  const rest = vpp === undefined ? lastStage(total, pp) : null;
  const ways = [
    ...(sizes.length > 0 ? [`pp ${eitherNumber(sizes)}`] : []),
    ...(rest === null ? [] : [`${LAST} ${rest}`]),
    `${eitherNumber(more)} layers`,
  ];
  yield {
    message: `pp ${pp} does not divide ${countOf(total, 'layer')}. Use ${ways.join(', or ')}.${vpp === undefined ? '' : stopsLater(facts, 'builds the model')}`,
    span: field.written ? field.span : layers.span,
    related: [valueRelated(layersName, layers)],
    // with interleaving the script leaves this to the model
    predicts:
      facts.trainingScript && vpp === undefined
        ? 'Number of layers should be divisible by the pipeline-model-parallel size'
        : `num_layers=${total} should be divisible by config.pipeline_model_parallel_size=${pp}`,
    fixes: [
      ...sizes.map((size) => changeFix('pp', field, size)),
      rest === null ? null : setFix(facts.text, module.model.span, LAST, last, rest),
      ...more.map((n) => changeFix(layersName, layers, n)),
    ],
  };
}

const LAST = 'num_layers_in_last_pipeline_stage';

/** Layers of a last stage that takes what equal other stages leave; null where there is no such split. */
function lastStage(total: number, pp: number): number | null {
  const rests = [Math.ceil(total / pp), Math.floor(total / pp)].map((each) => total - each * (pp - 1));
  return total > pp ? (rests.find((rest) => rest > 0) ?? null) : null;
}

/** A pipeline of which one end or both have sizes of their own, and what they leave for the other stages. */
interface Uneven extends Pipeline {
  /** `The first stage takes`, `The last stage takes` or `The first and last stages take`. */
  readonly take: string;
  /** Layers of the ends. */
  readonly taken: number;
  /** Layers and stages that are left; negative where the ends take more than there is. */
  readonly left: number;
  readonly others: number;
  /** Leaves the sizes of the ends out. */
  readonly equalStages: Fix | null;
}

/** The checks of uneven stages, in the order in which TransformerConfig makes them. */
function uneven(facts: LayoutFacts, pipeline: Pipeline): Report | null {
  const { first, last, total, pp, vpp } = pipeline;
  const taken = (first.value ?? 0) + (last.value ?? 0);
  const stages: Uneven = {
    ...pipeline,
    take:
      first.written && last.written
        ? 'The first and last stages take'
        : `The ${first.written ? 'first' : 'last'} stage takes`,
    taken,
    left: total - taken,
    others: pp - (first.written ? 1 : 0) - (last.written ? 1 : 0),
    equalStages: suggestion('Make all stages equal', removeFields(facts.text, [pipeline.first, pipeline.last])),
  };
  const { left, others } = stages;
  const end = endReport(facts, stages);
  if (end) {
    return end;
  }
  if ((left !== 0) !== (others !== 0)) {
    return mismatchReport(stages);
  }
  if (others !== 0 && left % others !== 0) {
    return restReport(stages);
  }
  if (vpp !== undefined && others > 0 && (left / others) % vpp !== 0) {
    return chunksReport(facts, stages, vpp);
  }
  const plan = stagePlanOf(facts, pipeline.module);
  return plan && (plan.error !== null || plan.covers === false) ? unplaced(stages, plan) : null;
}

/** What all reports of uneven stages have in common. */
function unevenReport(
  { first, last, layers, layersName, equalStages }: Uneven,
  report: Pick<Report, 'message' | 'predicts' | 'fixes'>,
): Report {
  return {
    ...report,
    span: (first.written ? first : last).span,
    related: [valueRelated(layersName, layers)],
    fixes: [...(report.fixes ?? []), equalStages],
  };
}

/** Megatron-LM checks the whole of the first stage before it looks at the last. */
function endReport({ root }: LayoutFacts, { first, last, vpp = 1, equalStages }: Uneven): Report | null {
  const written = root.parallelism.value?.vpp;
  for (const [name, field] of Object.entries({ first, last })) {
    if (field.value !== undefined && field.value % vpp !== 0) {
      const key = `num_layers_in_${name}_pipeline_stage`;
      const better = nearestMultiples(vpp, field.value);
      return {
        message: `vpp ${vpp} does not divide the ${countOf(field.value, 'layer')} of the ${name} stage. Use ${key} ${eitherNumber(better)}.`,
        span: field.span,
        related: written ? [valueRelated('vpp', written)] : [],
        predicts: `number of layers at ${name} stage: ${field.value}must be divisible by virtual pipelineparallel degree ${vpp}`,
        fixes: [...better.map((n) => changeFix(key, field, n)), equalStages],
      };
    }
  }
  return null;
}

function mismatchReport(stages: Uneven): Report {
  const { take, taken, total, pp, left, others } = stages;
  const problem =
    left === 0
      ? `${take} all ${countOf(total, 'layer')}, but pp ${pp} makes ${others < 0 ? 'one stage only' : `${countOf(others, 'more stage')}`}.`
      : `${take} ${taken} of ${countOf(total, 'layer')}, but pp ${pp} makes no other stage.`;
  return unevenReport(stages, {
    message: `${problem} Use ${left === 0 ? 'smaller sizes' : `sizes that add up to ${total}`}, or leave them out.`,
    predicts: `Mismatch: ${left} middle layers remaining but ${others} middle PP stages available.`,
  });
}

function restReport(stages: Uneven): Report {
  const { layers, layersName, total, left, others, take, taken } = stages;
  const predicts = `number of layers at middle stage: ${left} must be divisible bythe middle pipeline model parallel size ${others}`;
  if (left < 0) {
    const message = `${take} ${countOf(taken, 'layer')}, more than num_layers ${total}. Use smaller sizes, or leave them out.`;
    return unevenReport(stages, { message, predicts });
  }
  const totals = nearestMultiples(Math.abs(others), left).map((n) => total - left + n);
  return unevenReport(stages, {
    message: `${take.replace('take', 'leave')} ${countOf(left, 'layer')}, which ${countOf(others, 'other stage')} cannot share equally. Use num_layers ${eitherNumber(totals)}.`,
    predicts,
    fixes: totals.map((n) => changeFix(layersName, layers, n)),
  });
}

function chunksReport({ root }: LayoutFacts, stages: Uneven, vpp: number): Report {
  const { left, others, first, last } = stages;
  const each = left / others;
  const field = root.parallelism.value?.vpp;
  const sizes = nearestDivisors(each, vpp, 3).filter((size) =>
    [first, last].every(({ value = 0 }) => value % size === 0),
  );
  return unevenReport(stages, {
    message: `vpp ${vpp} does not divide the ${countOf(each, 'layer')} of each other stage. Use vpp ${eitherNumber(sizes)}.`,
    predicts: `number of layers on each middle pipeline rank:${each} must be divisible by virtualpipeline parallel degree ${vpp}`,
    fixes: sizes.map((size) => changeFix('vpp', field, size)),
  });
}

/** Sizes that every check accepts, and with which Megatron-LM fails when it places the layers, or loses some of them. */
function unplaced(stages: Uneven, plan: StagePlan): Report {
  const { take, taken, total, last, left, others } = stages;
  const lost = `${lossOf(plan)}. Megatron-LM reports nothing.`;
  const problem =
    plan.error !== null
      ? `The first and last stages are the whole pipeline: with vpp ${plan.settings.vpp} Megatron-LM divides by zero when it places the layers.`
      : others < 0
        ? `With pp 1 Megatron-LM builds only the ${countOf(last.value ?? 0, 'layer')} of the last stage, of ${total}: ${lost}`
        : left < 0
          ? `${take} ${countOf(taken, 'layer')}, more than num_layers ${total}: ${lost}`
          : `Megatron-LM reports nothing, but ${lossOf(plan)}.`;
  return unevenReport(stages, { message: `${problem} Leave the sizes out.` });
}
