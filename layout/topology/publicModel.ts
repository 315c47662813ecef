import type { ModelKeys, RootKeys } from '../format/keys';
import type { Field, Section } from '../format/spec';
import { type ModelFacts, modelNamed } from '../models';

type ModelField = Field<Section<ModelKeys>>;

/** Sizes that follow from others: where a file writes another of these, they are not those of the public model. */
const FOLLOWS: { readonly [K in keyof ModelFacts]?: keyof ModelFacts } = {
  moe_layer_freq: 'num_layers',
  hybrid_layer_pattern: 'num_layers',
  kv_channels: 'hidden_size',
  ffn_hidden_size: 'hidden_size',
  moe_router_topk: 'num_experts',
};

/** Whether a job has layers of multi-token prediction is its own choice, whatever the model was trained with. */
const OF_THE_JOB: readonly string[] = ['mtp_num_layers'];

/**
 * The fields of a file, those of a model that it leaves out with the sizes of the public model that `model.from` names. Such a
 * field is `given`; its place is that of the name.
 */
export function withPublicModels(root: Section<RootKeys>): Section<RootKeys> {
  const modules = root.modules.value?.map((module) =>
    module.value ? { ...module, value: { ...module.value, model: withSizes(module.value.model) } } : module,
  );
  return {
    ...root,
    model: withSizes(root.model),
    modules: modules ? { ...root.modules, value: modules } : root.modules,
  };
}

function withSizes(model: ModelField): ModelField {
  const fields = model.value;
  const name = fields?.from.value;
  const facts = name === undefined ? undefined : modelNamed(name)?.facts;
  if (!fields || !facts) {
    return model;
  }
  const { span, keySpan } = fields.from;
  const isOther = (key: keyof ModelFacts) => fields[key].written && fields[key].value !== facts[key];
  const given = Object.entries(facts).flatMap(([name, value]) => {
    const key = name as keyof ModelFacts;
    const origin = FOLLOWS[key];
    return OF_THE_JOB.includes(key) || fields[key].written || (origin !== undefined && isOther(origin))
      ? []
      : [[key, { written: true, given: true, value, span, keySpan }] as const];
  });
  // the table has the types of the keys
  return { ...model, value: { ...fields, ...Object.fromEntries(given) } as Section<ModelKeys> };
}
