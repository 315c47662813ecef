import { assertThat, floorDiv, modulo } from '../python';
import type { LayerKind, LayerLayout } from './layerLayout';
import { accountedLayers, middleOf, type Pipeline } from './settings';

/** What every stage builds, each list by virtual stage and then by pipeline rank. */
export interface LayerPlacement {
  /** How many decoder layers a stage builds, and the first one's number. */
  readonly layers: readonly (readonly (readonly [count: number, offset: number])[])[];
  /** How many MTP layers it builds. */
  readonly mtp: readonly (readonly number[])[];
}

/** One stage of a pipeline; `vpStage` is null without interleaving. */
interface Stage {
  readonly rank: number;
  readonly vpStage: number | null;
}

/**
 * Where each stage's layers begin and how many there are: `get_num_layers_to_build`, `get_transformer_layer_offset` and
 * `get_mtp_num_layers_to_build` of megatron/core/transformer, played for every stage in the order virtual stage, pipeline
 * rank. Only inside `attempt`.
 */
export function placeLayers(pipeline: Pipeline): LayerPlacement {
  const { pp, vpp, layout } = pipeline;
  if (layout) {
    return placeLayout(layout);
  }
  const layers: (readonly [number, number])[][] = [];
  const mtp: number[][] = [];
  for (let v = 0; v < (vpp || 1); v++) {
    const stages = Array.from({ length: pp }, (_, rank): Stage => ({ rank, vpStage: vpp === null ? null : v }));
    layers.push(stages.map((stage) => [layersToBuild(pipeline, stage), layerOffset(pipeline, stage)] as const));
    mtp.push(stages.map((stage) => mtpLayers(pipeline, stage)));
  }
  return { layers, mtp };
}

function placeLayout({ pp, stages }: LayerLayout): LayerPlacement {
  let next = 0;
  const layers = stages.map((ranks) =>
    ranks.map((stage): readonly [number, number] => {
      const count = countOf(stage, 'decoder');
      // a single rank is taken to begin at the first layer, whichever of its chunks this is
      const offset = pp > 1 ? next : 0;
      next += count;
      return [count, offset];
    }),
  );
  return { layers, mtp: stages.map((ranks) => ranks.map((stage) => countOf(stage, 'mtp'))) };
}

function countOf(stage: readonly LayerKind[], kind: LayerKind): number {
  return stage.filter((layer) => layer === kind).length;
}

/** Whether the stages hold the layers `0 ... numLayers - 1` exactly once. */
export function coversModel({ layers }: LayerPlacement, numLayers: number): boolean {
  const held = layers.flat().filter(([count]) => count !== 0);
  const built = held.reduce((total, [count]) => total + count, 0);
  if (built !== numLayers || held.some(([count]) => count < 0)) {
    return false;
  }
  let next = 0;
  for (const [count, offset] of held.toSorted((a, b) => a[1] - b[1])) {
    if (offset !== next) {
      return false;
    }
    next += count;
  }
  return true;
}

function layersToBuild(pipeline: Pipeline, { rank, vpStage }: Stage): number {
  const { pp, vpp, accountForEmbedding, accountForLoss } = pipeline;
  let layers = layersOfRank(pipeline, rank);
  if (vpp !== null && pp > 1) {
    const whole = layers;
    assertThat(
      modulo(whole, vpp) === 0,
      // the blanks are of a continued line in Megatron's source
      `num_layers_per_pipeline_rank ${whole}             should be divisible by vp_size ${vpp}`,
    );
    layers = floorDiv(whole, vpp);
  }
  if (accountForEmbedding && rank === 0 && isFirstChunk(vpStage, vpp)) {
    layers -= 1;
    assertThat(layers >= 0, 'Not enough layers in the first virtual pipeline stage');
  }
  if (accountForLoss && rank === pp - 1 && isLastChunk(vpStage, vpp)) {
    layers -= 1;
    assertThat(layers >= 0, 'Not enough layers in the last virtual pipeline stage');
  }
  return layers;
}

/** The layers of all chunks of a pipeline rank, before the embedding and the loss are taken off. */
function layersOfRank(pipeline: Pipeline, rank: number): number {
  const { pp, first, last } = pipeline;
  if (first === null && last === null) {
    const layers = accountedLayers(pipeline);
    assertThat(
      modulo(layers, pp) === 0,
      `num_layers=${layers} should be divisible by config.pipeline_model_parallel_size=${pp}`,
    );
    return floorDiv(layers, pp);
  }
  const { layers, stages } = middleOf(pipeline);
  assertThat(
    stages <= 0 || modulo(layers, stages) === 0,
    'With uneven pipelineing the left over layers must be divisible by left over stages',
  );
  const middle = stages > 0 ? floorDiv(layers, stages) : 0;
  const atStart = rank === 0 && first !== null ? first : middle;
  return rank === pp - 1 && last !== null ? last : atStart;
}

function layerOffset(pipeline: Pipeline, stage: Stage): number {
  const { pp, first, last } = pipeline;
  if (pp <= 1) {
    return 0;
  }
  return first !== null || last !== null ? unevenOffset(pipeline, stage) : evenOffset(pipeline, stage);
}

function unevenOffset(pipeline: Pipeline, { rank, vpStage }: Stage): number {
  const { vpp, first, last } = pipeline;
  const { layers: middle, stages } = middleOf(pipeline);
  const middleRank = first === null ? rank : rank - 1;
  if (vpp === null) {
    const each = stages > 0 ? floorDiv(middle, stages) : 0;
    return rank === 0 ? 0 : middleRank * each + (first ?? 0);
  }
  const firstChunk = floorDiv(first ?? 0, vpp);
  const middleChunk = floorDiv(middle, vpp);
  const chunks = firstChunk + middleChunk + floorDiv(last ?? 0, vpp);
  const start = (vpStage ?? 0) * chunks;
  // without middle stages Megatron-LM divides by zero here
  return rank === 0 ? start : start + firstChunk + middleRank * floorDiv(middleChunk, stages);
}

function evenOffset(pipeline: Pipeline, { rank, vpStage }: Stage): number {
  const { pp, vpp, accountForEmbedding } = pipeline;
  const layers = accountedLayers(pipeline);
  const each = floorDiv(layers, pp);
  const offset = vpp === null ? rank * each : (vpStage ?? 0) * floorDiv(layers, vpp) + rank * floorDiv(each, vpp);
  const isFirst = rank === 0 && isFirstChunk(vpStage, vpp);
  return accountForEmbedding && !isFirst ? offset - 1 : offset;
}

/** Without a layout all MTP layers are in the last stage. */
function mtpLayers({ pp, vpp, mtp }: Pipeline, { rank, vpStage }: Stage): number {
  return rank === pp - 1 && (vpp === null || vpStage === vpp - 1) ? (mtp ?? 0) : 0;
}

function isFirstChunk(vpStage: number | null, vpp: number | null): boolean {
  return vpp === null || vpp <= 1 || vpStage === 0;
}

function isLastChunk(vpStage: number | null, vpp: number | null): boolean {
  return vpp === null || vpp <= 1 || vpStage === vpp - 1;
}
