import { type Field, valuesOf } from '../format/spec';
import { memoizeRecent } from '../memoize';
import type { LayoutFacts, ModuleFacts } from './facts';
import { type PipelineArguments, virtualSizeOf } from './pipeline/arguments';
import {
  checkSpellings,
  coversPattern,
  type HybridPlan,
  hybridPlan,
  mergedPattern,
  type PatternSpellings,
} from './pipeline/hybridPattern';
import { type LayerLayoutInput, unrolled } from './pipeline/layerLayout';
import { coversModel, type LayerPlacement, placeLayers } from './pipeline/layerPlacement';
import { type Pipeline, pipelineOf } from './pipeline/settings';
import { type Attempt, attempt, type Raised } from './python';

/** The most stages that are computed one by one: more than any pipeline has. */
const MAX_STAGES = 4096;

/** The most layers that are listed: more than any model has. */
const MAX_LISTED = 100_000;

/** The layers of one stage of a pipeline. */
export interface Stage {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  readonly pp: number;
  readonly vpp: number;
  /** `embedding`, `t0`, `t1`, ..., `mtp0`, ..., `loss`, in their order; layers are counted over the model. */
  readonly layers: readonly string[];
}

/** How the layers of one grid's model are laid over its pipeline. */
export interface StagePlan {
  readonly module: ModuleFacts;
  /** What the file says; an unwritten `numLayers` is counted in the layout or pattern. */
  readonly settings: PipelineArguments;
  /** The hybrid pattern, null for other models. */
  readonly pattern: string | null;
  /** The error that Megatron-LM raises; null where it raises none. */
  readonly error: Raised | null;
  /** Model chunks a stage (`virtual_pipeline_model_parallel_size`); null for one, and where Megatron-LM stops before. */
  readonly vpp: number | null;
  /** Whether every layer is held exactly once; null where that is open. */
  readonly covers: boolean | null;
  /** The stages by virtual stage and then by rank; null where they are open, or hold more layers than are listed. */
  readonly stages: () => readonly Stage[] | null;
}

/** The plan of each grid whose layers are known. */
export const stagePlans: (facts: LayoutFacts) => readonly StagePlan[] = memoizeRecent((facts: LayoutFacts) =>
  facts.modules.map((module) => planOf(facts, module)).filter((plan) => plan !== null),
);

/** The plan of one grid; undefined where its layers are not known. */
export function stagePlanOf(facts: LayoutFacts, module: ModuleFacts): StagePlan | undefined {
  return stagePlans(facts).find((plan) => plan.module === module);
}

/**
 * Model chunks a pipeline stage of a grid, of all ways to say it: `vpp`, a layout, a pattern, layers a chunk. Null for one
 * chunk.
 */
export function virtualSize(facts: LayoutFacts, module: ModuleFacts): number | null {
  const plan = stagePlanOf(facts, module);
  const written = facts.heterogeneous ? null : (facts.root.parallelism.value?.vpp.value ?? null);
  const size = plan && plan.error === null ? plan.vpp : written;
  return size === 1 ? null : size;
}

/** Which layers of a model no stage holds, and which several hold: `no stage holds t2, t3; several stages hold t0, t1`. */
export function lossOf({ settings, stages }: StagePlan): string {
  const counts = new Map<string, number>();
  for (const layer of (stages() ?? []).flatMap(({ layers }) => layers)) {
    counts.set(layer, (counts.get(layer) ?? 0) + 1);
  }
  const all = range(Math.min(settings.numLayers, MAX_LISTED)).map((i) => `t${i}`);
  const lost = all.filter((layer) => !counts.has(layer));
  const twice = all.filter((layer) => (counts.get(layer) ?? 0) > 1);
  const parts = [
    ...(lost.length > 0 ? [`no stage holds ${listed(lost)}`] : []),
    ...(twice.length > 0 ? [`several stages hold ${listed(twice)}`] : []),
  ];
  return parts.length > 0 ? parts.join('; ') : `the stages hold layers beyond the ${settings.numLayers} of the model`;
}

const listed = (layers: readonly string[]): string =>
  layers.length > 8 ? `${layers.slice(0, 7).join(', ')} and ${layers.length - 7} more layers` : layers.join(', ');

function planOf(facts: LayoutFacts, module: ModuleFacts): StagePlan | null {
  const settings = module.degrees ? settingsOf(facts, module) : null;
  if (!settings) {
    return null;
  }
  const pattern = patternOf(module.model.value);
  return pattern === null ? plainPlan(facts, module, settings) : hybridStagePlan(module, settings, pattern);
}

/**
 * The error that Megatron-LM raises for a pipeline with numbers below the least that the format takes, such as a stage of -1
 * layers; null where it has no check of its own.
 */
export function refusedPipeline(facts: LayoutFacts, module: ModuleFacts): string | null {
  const { tooSmall } = facts.read;
  const written = ({ value, span }: Field<number>) =>
    value ?? tooSmall.find((small) => small.span.start === span.start)?.value;
  const settings = settingsOf(facts, module, written);
  const pattern = patternOf(module.model.value);
  const placed =
    settings &&
    attempt(() =>
      pattern === null ? placeLayers(configured(facts, settings)) : spelledPlan(module, settings, pattern),
    );
  return placed?.ok === false && placed.error.checked ? placed.error.message : null;
}

/** The pipeline settings of a grid; null where its layers are open, or a value is unusable. */
function settingsOf(
  { root, heterogeneous }: LayoutFacts,
  module: ModuleFacts,
  numberOf: (field: Field<number>) => number | undefined = ({ value }) => value,
): PipelineArguments | null {
  const model = module.model.value;
  const own = module.own ?? root.parallelism.value;
  const parallelism = heterogeneous ? undefined : root.parallelism.value;
  const pp = module.fields.pp.written ? numberOf(module.fields.pp) : 1;
  if (!own || pp === undefined) {
    return null;
  }
  const numbers = [
    [model?.num_layers, model?.encoder_num_layers].find((field) => field?.written),
    parallelism?.vpp,
    parallelism?.num_layers_per_virtual_pipeline_stage,
    model?.num_layers_in_first_pipeline_stage,
    model?.num_layers_in_last_pipeline_stage,
    model?.mtp_num_layers,
  ];
  const others = [
    model?.hybrid_layer_pattern,
    model?.hybrid_override_pattern,
    model?.mtp_hybrid_override_pattern,
    own.pipeline_model_parallel_layout,
    own.account_for_embedding_in_pipeline_split,
    own.account_for_loss_in_pipeline_split,
  ];
  const [layers, vpp, perVirtualStage, first, last, mtp] = numbers.map((field) =>
    field?.written ? numberOf(field) : null,
  );
  const isUsable = (field: Field<unknown> | undefined) => !field?.written || field.value !== undefined;
  // undefined: written, and no number
  if (
    ![layers, vpp, perVirtualStage, first, last, mtp].every((number) => number !== undefined) ||
    !others.every(isUsable)
  ) {
    return null;
  }
  const { value } = own.pipeline_model_parallel_layout;
  const layout = typeof value === 'string' ? value : value === undefined ? null : valuesOf(value);
  const isHybrid = patternOf(model) !== null;
  const numLayers = layers ?? (isHybrid ? 0 : countIn(layout, 'decoder'));
  if (numLayers === null) {
    return null;
  }
  return {
    numLayers,
    pp,
    vpp: vpp ?? null,
    perVirtualStage: perVirtualStage ?? null,
    first: first ?? null,
    last: last ?? null,
    accountForEmbedding: own.account_for_embedding_in_pipeline_split.value ?? false,
    accountForLoss: own.account_for_loss_in_pipeline_split.value ?? false,
    // a file that says nothing of the model may have MTP layers in its layout all the same
    mtp: mtp ?? (model?.num_layers.written ? null : countIn(layout, 'mtp')),
    layout,
  };
}

/** The pattern of a hybrid model, in the spelling of today; null for another model. */
export function patternOf(model: ModuleFacts['model']['value']): string | null {
  return mergedPattern(spellingsOf(model));
}

function spellingsOf(model: ModuleFacts['model']['value']): PatternSpellings {
  return {
    pattern: model?.hybrid_layer_pattern.value ?? null,
    former: model?.hybrid_override_pattern.value ?? null,
    depth: model?.mtp_hybrid_override_pattern.value ?? null,
    depths: model?.mtp_num_layers.value ?? null,
  };
}

/** How often a layer stands in a layout; null where there is no layout that can be read. */
export function countIn(layout: LayerLayoutInput | null, kind: 'decoder' | 'mtp'): number | null {
  if (layout === null) {
    return null;
  }
  if (typeof layout !== 'string') {
    return layout.flat().filter((name) => typeof name === 'string' && name.trim().toLowerCase() === kind).length;
  }
  const text = attempt(() => unrolled(layout));
  return text.ok ? text.value.split(kind === 'decoder' ? 't' : 'm').length - 1 : 0;
}

function plainPlan(facts: LayoutFacts, module: ModuleFacts, settings: PipelineArguments): StagePlan {
  const pipeline = attempt(() => configured(facts, settings));
  const placed = pipeline.ok ? placementOf(pipeline.value) : null;
  const error = !pipeline.ok ? pipeline.error : placed && !placed.ok ? placed.error : null;
  const placement = placed?.ok ? placed.value : null;
  return {
    module,
    settings,
    pattern: null,
    error,
    vpp: pipeline.ok ? pipeline.value.vpp : null,
    covers: placement && coversModel(placement, settings.numLayers),
    stages: () =>
      pipeline.ok && placement && layersIn(placement) <= MAX_LISTED
        ? plainStages(module, pipeline.value, placement)
        : null,
  };
}

/**
 * The training script reads its arguments first; a bare configuration, as frameworks over the library make it, takes `vpp` as it is,
 * also beside a layout that agrees.
 */
function configured({ trainingScript, framework }: LayoutFacts, settings: PipelineArguments): Pipeline {
  const isLibrary = framework !== null && framework.rules.megatron !== 'script';
  const byScript = (trainingScript && !isLibrary) || settings.perVirtualStage !== null;
  return pipelineOf(byScript ? { ...settings, vpp: virtualSizeOf(settings) } : settings);
}

function placementOf(pipeline: Pipeline): Attempt<LayerPlacement> | null {
  const { pp, vpp } = pipeline;
  return pp * (vpp ?? 1) <= MAX_STAGES ? attempt(() => placeLayers(pipeline)) : null;
}

function layersIn({ layers, mtp }: LayerPlacement): number {
  const counts = [...layers.flat().map(([count]) => count), ...mtp.flat()];
  return counts.reduce((sum, count) => sum + Math.max(0, count), 0);
}

function plainStages(
  { name }: ModuleFacts,
  { pp, layout }: Pick<Pipeline, 'pp' | 'layout'>,
  { layers, mtp }: LayerPlacement,
): Stage[] {
  return layers.flatMap((ranks, v) =>
    ranks.map(([count, offset], rank): Stage => {
      const decoders = range(count).map((i) => `t${offset + i}`);
      const depths = range(mtp[v]?.[rank] ?? 0).map((i) => `mtp${i}`);
      const named = { embedding: ['embedding'], loss: ['loss'], encoder: [], decoder: decoders, mtp: depths };
      // layers of one kind stand together in a stage that passed the checks
      const kinds = layout ? [...new Set(layout.stages[v]?.[rank])] : null;
      const isLast = v === layers.length - 1 && rank === pp - 1;
      const all = kinds
        ? kinds.flatMap((kind) => named[kind])
        : [...(v === 0 && rank === 0 ? ['embedding'] : []), ...decoders, ...depths, ...(isLast ? ['loss'] : [])];
      return { module: name, pp: rank, vpp: v, layers: all };
    }),
  );
}

/** Only inside `attempt`. */
function spelledPlan({ model }: ModuleFacts, settings: PipelineArguments, pattern: string): HybridPlan {
  checkSpellings(spellingsOf(model.value));
  return hybridPlan(pattern, settings, settings.perVirtualStage);
}

function hybridStagePlan(module: ModuleFacts, settings: PipelineArguments, pattern: string): StagePlan {
  const isSmall = settings.pp <= MAX_STAGES;
  const plan = isSmall ? attempt(() => spelledPlan(module, settings, pattern)) : null;
  return {
    module,
    settings: plan?.ok ? { ...settings, numLayers: plan.value.numLayers } : settings,
    pattern,
    error: plan && !plan.ok ? plan.error : null,
    vpp: plan?.ok ? plan.value.vpp : null,
    covers: plan?.ok ? coversPattern(plan.value) : null,
    stages: () => (plan?.ok ? hybridStages(module, plan.value) : null),
  };
}

function hybridStages(module: ModuleFacts, { stages, pattern }: HybridPlan): Stage[] {
  const pp = stages[0]?.length ?? 1;
  const isLast = (v: number, rank: number) => v === stages.length - 1 && rank === pp - 1;
  const layers = stages.map((ranks) => ranks.map(([symbols, offset]) => [symbols.length, offset] as const));
  const mtp = stages.map((ranks, v) => ranks.map((_, rank) => (isLast(v, rank) ? pattern.mtpDepths : 0)));
  return plainStages(module, { pp, layout: null }, { layers, mtp });
}

const range = (length: number): number[] => Array.from({ length: Math.max(0, length) }, (_, i) => i);
