import type { Fix } from '../../diagnostic';
import type { ModelKeys } from '../../format/keys';
import type { Field, Section } from '../../format/spec';
import type { Degrees, LayoutFacts, ModuleFacts } from '../../topology/facts';
import { changeFix } from '../fixes';

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

/** Fixes that change a written degree to one of some sizes; none where it has its default. */
export function degreeFixes(name: string, field: Field<number>, sizes: readonly number[]): Fix[] {
  return field.written ? sizes.map((size) => changeFix(name, field.span, size)) : [];
}
