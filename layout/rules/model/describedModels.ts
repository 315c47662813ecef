import type { ModelKeys } from '../../format/keys';
import type { Section } from '../../format/spec';
import type { Degrees, LayoutFacts, ModuleFacts } from '../../topology/facts';
import type { Report } from '../rule';

/** A grid whose model is described. */
export interface DescribedModel {
  readonly module: ModuleFacts;
  readonly model: Section<ModelKeys>;
  readonly degrees: Degrees;
}

/** The check of a rule on each grid whose model is described and whose degrees are usable. */
export function eachModel(
  reportsOf: (described: DescribedModel, facts: LayoutFacts) => Iterable<Report>,
): (facts: LayoutFacts) => Iterable<Report> {
  return function* (facts) {
    for (const module of facts.modules) {
      const { degrees } = module;
      const model = module.model.value;
      yield* model && degrees ? reportsOf({ module, model, degrees }, facts) : [];
    }
  };
}
