import { assertThat, fail, floorDiv, modulo, raise, repr } from '../python';
import { type LayerLayout, type LayerLayoutInput, readLayerLayout, validateLayers } from './layerLayout';

/** What decides where layers go: fields of `TransformerConfig`; null where one is not set. */
export interface PipelineSettings {
  readonly numLayers: number;
  readonly pp: number;
  /** `virtual_pipeline_model_parallel_size`. */
  readonly vpp: number | null;
  /** `num_layers_in_first_pipeline_stage` and `num_layers_in_last_pipeline_stage`. */
  readonly first: number | null;
  readonly last: number | null;
  readonly accountForEmbedding: boolean;
  readonly accountForLoss: boolean;
  readonly mtp: number | null;
  readonly layout: LayerLayoutInput | null;
}

/** Settings that passed `TransformerConfig`, with the virtual size that it found. */
export interface Pipeline extends Omit<PipelineSettings, 'layout'> {
  readonly layout: LayerLayout | null;
}

/**
 * The pipeline's part of `TransformerConfig.__post_init__` (megatron/core/transformer/transformer_config.py), check by check
 * in its order. Only inside `attempt`.
 */
export function pipelineOf(settings: PipelineSettings): Pipeline {
  const { first, last, accountForEmbedding, accountForLoss, layout } = settings;
  const uneven = first !== null || last !== null;
  const accounted = accountForEmbedding || accountForLoss;
  if (uneven && accounted) {
    raise(
      'ValueError',
      'num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage cannot beset at the same time with account_for_embedding_in_pipeline_splitand account_for_loss_in_pipeline_split',
    );
  }
  const pipeline = layout === null ? { ...settings, layout: null } : withLayout(settings, layout);
  if (layout === null && uneven) {
    checkUneven(settings);
  } else if (layout === null && accounted) {
    checkAccounted(settings);
  }
  checkSizes(settings);
  return pipeline;
}

/** The scale of the first weights holds a root of the layers; only then the stages are counted. */
function checkSizes({ numLayers, pp }: PipelineSettings): void {
  if (numLayers === 0) {
    fail('ZeroDivisionError', 'float division by zero');
  }
  if (numLayers < 0) {
    fail('ValueError', 'math domain error');
  }
  assertThat(
    pp > 0,
    // the blanks are of a continued line in Megatron's source
    'Pipeline model parallel size must be larger than 0             when enable --standalone-embedding-stage and --standalone-loss-stage',
  );
}

function withLayout(settings: PipelineSettings, input: LayerLayoutInput): Pipeline {
  const { first, last, accountForEmbedding, accountForLoss, numLayers, pp, vpp, mtp } = settings;
  if (first !== null || last !== null || accountForEmbedding || accountForLoss) {
    const others = {
      num_layers_in_first_pipeline_stage: first,
      num_layers_in_last_pipeline_stage: last,
      account_for_embedding_in_pipeline_split: accountForEmbedding,
      account_for_loss_in_pipeline_split: accountForLoss,
    };
    const list = Object.entries(others).map(([name, value]) => `self.${name}=${repr(value)}`);
    raise(
      'ValueError',
      `pipeline_model_parallel_layout cannot be set with other pipeline layout arguments. ${list.join(', ')}.`,
    );
  }
  const layout = readLayerLayout(input, pp);
  assertThat(
    vpp === null || vpp === layout.vpp,
    `virtual_pipeline_model_parallel_size conflicts with pipeline_model_parallel_layout, (self.virtual_pipeline_model_parallel_size=${vpp},  detected_vpp_size=${layout.vpp})`,
  );
  validateLayers(layout, numLayers, mtp);
  return { ...settings, vpp: vpp ?? (layout.vpp > 1 ? layout.vpp : null), layout };
}

/** The stages between the first and the last of another size, and the layers that are left for them. */
export function middleOf({
  numLayers,
  pp,
  first,
  last,
}: Pick<PipelineSettings, 'numLayers' | 'pp' | 'first' | 'last'>): {
  readonly layers: number;
  readonly stages: number;
} {
  return {
    layers: numLayers - (first ?? 0) - (last ?? 0),
    stages: pp - (first === null ? 0 : 1) - (last === null ? 0 : 1),
  };
}

/** The checks of a first or last stage of another size, in the order of `TransformerConfig`. Only inside `attempt`. */
export function checkUneven(settings: Pick<PipelineSettings, 'numLayers' | 'pp' | 'vpp' | 'first' | 'last'>): void {
  const { vpp, first, last } = settings;
  const { layers: middle, stages } = middleOf(settings);
  for (const [name, layers] of [
    ['first', first],
    ['last', last],
  ] as const) {
    if (layers !== null) {
      if (layers <= 0) {
        raise('ValueError', `num_layers_in_${name}_pipeline_stage must be larger than 0`);
      }
      if (vpp !== null && modulo(layers, vpp) !== 0) {
        raise(
          'ValueError',
          `number of layers at ${name} stage: ${layers}must be divisible by virtual pipelineparallel degree ${vpp}`,
        );
      }
    }
  }
  if ((middle !== 0) !== (stages !== 0)) {
    raise('ValueError', `Mismatch: ${middle} middle layers remaining but ${stages} middle PP stages available.`);
  }
  if (stages !== 0 && modulo(middle, stages) !== 0) {
    raise(
      'ValueError',
      `number of layers at middle stage: ${middle} must be divisible bythe middle pipeline model parallel size ${stages}`,
    );
  }
  if (stages !== 0 && vpp !== null && modulo(floorDiv(middle, stages), vpp) !== 0) {
    raise(
      'ValueError',
      `number of layers on each middle pipeline rank:${floorDiv(middle, stages)} must be divisible by virtualpipeline parallel degree ${vpp}`,
    );
  }
}

function checkAccounted(settings: PipelineSettings): void {
  const { pp, vpp } = settings;
  const layers = accountedLayers(settings);
  if (vpp === null) {
    if (modulo(layers, pp) !== 0) {
      raise(
        'ValueError',
        `number of middle layers: ${layers} must be divisible by middle pipeline_model_parallel_size ${pp}`,
      );
    }
    return;
  }
  if (modulo(layers, pp) !== 0) {
    raise(
      'ValueError',
      `num_layers: ${layers} after enableaccount_for_embedding_in_pipeline_split or account_for_loss_in_pipeline_split must be divisibleby pipeline_model_parallel_size ${pp}`,
    );
  }
  if (modulo(floorDiv(layers, pp), vpp) !== 0) {
    raise(
      'ValueError',
      `number of layers on each pipeline rank: ${floorDiv(layers, pp)}(after enable account_for_embedding_in_pipeline_split or account_for_loss_in_pipeline_split) must be divisible byvirtual_pipeline_model_parallel_size${vpp}`,
    );
  }
}

/** The model's layers with the embedding and the loss, each where it counts as one. */
export function accountedLayers({
  numLayers,
  accountForEmbedding,
  accountForLoss,
}: Pick<PipelineSettings, 'numLayers' | 'accountForEmbedding' | 'accountForLoss'>): number {
  return numLayers + (accountForEmbedding ? 1 : 0) + (accountForLoss ? 1 : 0);
}
