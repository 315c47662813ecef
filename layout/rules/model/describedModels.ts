import type { ModelKeys } from '../../format/keys';
import type { Section } from '../../format/spec';
import type { Degrees, LayoutFacts, ModuleFacts } from '../../topology/facts';

/** A grid whose model is described. */
export interface DescribedModel {
  readonly module: ModuleFacts;
  readonly model: Section<ModelKeys>;
  readonly degrees: Degrees;
}

/** The grids whose model is described and whose degrees are usable. */
export function* describedModels({ modules }: LayoutFacts): Iterable<DescribedModel> {
  for (const module of modules) {
    const model = module.model.value;
    if (model && module.degrees) {
      yield { module, model, degrees: module.degrees };
    }
  }
}
