import type { Field } from '../../format/spec';
import { changeFix, changes } from '../fixes';
import { writtenRelated } from '../related';
import { inFramework, type Report, type Rule } from '../rule';

/** What the embedding and the output layer weigh in layers: `pipeline_parallel_{first,last}_stage_less_layers`, 1 each. */
const ENDS = 2;

/** Schedules of one stage a rank (torch.distributed.pipelining); 1F1B is torchtitan's default. */
const SINGLE = /^(1f1b|gpipe)$/i;

export const torchtitanPipeline: Rule = {
  code: 'torchtitan-pipeline',
  severity: 'error',
  title: "torchtitan cannot spread the layers over the schedule's stages",
  effect: 'torchtitan stops on every rank',
  what: 'The stages of a torchtitan job, `pp` times one (1F1B, GPipe) or two (interleaved and zero-bubble schedules), are more than its layers with embedding and output counted as one each; or `num_layers_per_virtual_pipeline_stage` makes a number of stages that `pp` does not divide, or another number of stages a rank than the schedule has. Fewer micro-batches than stages are a warning.',
  why: 'torchtitan derives the stages from the schedule, or from the layers of a stage, and gives each rank the same number of them.',
  failing:
    'layout: 1\nworld_size: 8\nlaunch: {family: torchtitan}\nparallelism: {pp: 4, pipeline_schedule: Interleaved1F1B, num_layers_per_virtual_pipeline_stage: 6}\nmodel: {num_layers: 32}\n',
  passing:
    'layout: 1\nworld_size: 8\nlaunch: {family: torchtitan}\nparallelism: {pp: 4, pipeline_schedule: Interleaved1F1B, num_layers_per_virtual_pipeline_stage: 5}\nmodel: {num_layers: 34}\n',
  sources: [
    inFramework(
      'pytorch/torchtitan',
      'torchtitan/distributed/pipeline_parallel.py',
      '_get_pipeline_metadata',
      '_generate_llm_fqn_per_model_part',
    ),
  ],
  *check({ modules, root }) {
    const [module] = modules;
    const parallelism = root.parallelism.value;
    const layers = module?.model.value?.num_layers;
    const pp = module?.degrees?.pp ?? 1;
    if (!parallelism || layers?.value === undefined || pp === 1) {
      return;
    }
    const isSingle = SINGLE.test(parallelism.pipeline_schedule.value ?? '1F1B');
    const perStage = parallelism.num_layers_per_virtual_pipeline_stage;
    const related = [...writtenRelated('num_layers', layers), ...writtenRelated('pp', parallelism.pp)];
    const few = root.batch.value && fewMicroBatches(root.batch.value.pipeline_microbatches, pp * (isSingle ? 1 : 2));
    const report =
      perStage.value === undefined
        ? tooManyStages(pp * (isSingle ? 1 : 2), layers.value)
        : unevenStages(pp, layers.value, perStage.value, isSingle);
    if (report) {
      const field = perStage.written ? perStage : parallelism.pp;
      const even = Math.ceil((layers.value + ENDS) / (pp * (isSingle ? 1 : 2)));
      yield {
        ...report,
        span: field.span,
        related,
        fixes: perStage.written ? [changeFix('num_layers_per_virtual_pipeline_stage', perStage, even)] : [],
      };
    } else if (few && perStage.value === undefined) {
      yield { ...few, related };
    }
  },
};

/** torchtitan warns itself, and runs. */
function fewMicroBatches(field: Field<number>, stages: number): Report | null {
  const count = field.value;
  return count === undefined || count >= stages
    ? null
    : {
        severity: 'warning',
        message: `${count} micro-batch${count === 1 ? '' : 'es'} for ${stages} pipeline stages: stages stand idle for most of a step. Use pipeline_microbatches ${stages} or more.`,
        ...changes('pipeline_microbatches', field, stages),
        predicts: `Number of microbatches (${count}) is less than the total number of stages (${stages}) which may result in a bubble in the pipeline.`,
      };
}

function tooManyStages(stages: number, layers: number): Pick<Report, 'message' | 'predicts'> | null {
  return stages > layers + ENDS
    ? {
        message: `${stages} pipeline stages are more than ${layers} layers with embedding and output. Use fewer stages.`,
        predicts: `Number of stages (${stages}) cannot be greater than effective layers (${layers + ENDS})`,
      }
    : null;
}

function unevenStages(
  pp: number,
  layers: number,
  perStage: number,
  isSingle: boolean,
): Pick<Report, 'message' | 'predicts'> | null {
  const stages = Math.ceil((layers + ENDS) / perStage);
  const counted = `(${layers} layers + ${ENDS} for embedding and output) / ${perStage} a stage = ${stages} stages`;
  const info = `Model has ${layers} layers with pipeline_parallel_layers_per_stage=${perStage}`;
  const distribution = `resulting in num_virtual_stages=${stages} across ${pp} PP ranks`;
  const perRank = stages / pp;
  if (!Number.isInteger(perRank)) {
    return {
      message: `${counted}, which pp ${pp} does not divide.`,
      predicts: `Number of virtual stages (${stages}) must be divisible by pipeline parallel size (${pp}). ${info}. Please adjust pipeline_parallel_layers_per_stage to a value that results in a number of stages divisible by ${pp}.`,
    };
  }
  if (isSingle && perRank !== 1) {
    return {
      message: `${counted}, ${perRank} a rank, but the schedule has 1.`,
      predicts: `Single stage schedule requires exactly 1 stage per rank, but got ${perRank} stages per rank. ${info}, ${distribution}. Please increase pipeline_parallel_layers_per_stage to ${Math.floor(layers / pp)} or higher to achieve 1 stage per rank.`,
    };
  }
  return !isSingle && perRank < 2
    ? {
        message: `${counted}, ${perRank} a rank, but the schedule needs at least 2.`,
        predicts: `Multi-stage schedule requires at least 2 stages per rank, but got ${perRank} stages per rank. ${info}, ${distribution}. Please decrease pipeline_parallel_layers_per_stage to achieve at least 2 stages per rank.`,
      }
    : null;
}
