import type { Field } from '../../format/spec';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { patternOf } from '../../topology/stages';

/** The layers of one grid's model and how its pipeline cuts them. */
export interface Pipeline {
  readonly module: ModuleFacts;
  readonly layers: Field<number>;
  /** The key that says them. */
  readonly layersName: 'num_layers' | 'encoder_num_layers';
  /** Layers of the first and of the last stage where they are written. */
  readonly first: Field<number>;
  readonly last: Field<number>;
  readonly total: number;
  readonly pp: number;
  /** Model chunks a stage; undefined without interleaving. */
  readonly vpp: number | undefined;
}

/** The grids whose number of layers is known, with usable degrees. */
export function* pipelines({ root, modules, heterogeneous }: LayoutFacts): Iterable<Pipeline> {
  for (const module of modules) {
    const model = module.model.value;
    // the script takes the layers of an encoder for those of the model where it has no others
    const layers = model?.num_layers.written ? model.num_layers : model?.encoder_num_layers;
    const total = layers?.value;
    const vpp = heterogeneous ? undefined : root.parallelism.value?.vpp;
    if (isOtherSplit(root, module)) {
      continue;
    }
    if (model && layers && total !== undefined && module.degrees && (!vpp?.written || vpp.value !== undefined)) {
      const { num_layers_in_first_pipeline_stage: first, num_layers_in_last_pipeline_stage: last } = model;
      if ([first, last].every((field) => !field.written || field.value !== undefined)) {
        yield {
          module,
          layers,
          layersName: layers === model.num_layers ? 'num_layers' : 'encoder_num_layers',
          first,
          last,
          total,
          pp: module.degrees.pp,
          vpp: vpp?.value,
        };
      }
    }
  }
}

/** Whether a layout, a pattern, or the account for embedding and loss splits the layers: rules of their own judge these. */
function isOtherSplit({ parallelism }: LayoutFacts['root'], { own, model }: ModuleFacts): boolean {
  const fields = own ?? parallelism.value;
  return (
    patternOf(model.value) !== null ||
    (model.value?.hybrid_layer_pattern.written ?? false) ||
    (fields?.pipeline_model_parallel_layout.written ?? false) ||
    (fields?.account_for_embedding_in_pipeline_split.value ?? false) ||
    (fields?.account_for_loss_in_pipeline_split.value ?? false) ||
    (parallelism.value?.num_layers_per_virtual_pipeline_stage.written ?? false)
  );
}

/** Our words for an error of Megatron-LM: a text, or one made of the groups that the expression captures. */
export type Words = readonly [error: RegExp, said: string | ((...groups: readonly string[]) => string)];

/** The words of the first expression that matches an error; Megatron-LM's checks name its own variables. */
export function explain(error: string, known: readonly Words[], otherwise: string): string {
  for (const [expression, said] of known) {
    const match = expression.exec(error);
    if (match) {
      return typeof said === 'string' ? said : said(...match.slice(1));
    }
  }
  return otherwise;
}
