import type { ModelKeys } from '../format/keys';
import type { ValueOf } from '../format/spec';

type Scalar = string | number | boolean;
type Sizes = {
  readonly [P in keyof ModelKeys as ValueOf<ModelKeys[P]> extends Scalar ? P : never]?: ValueOf<ModelKeys[P]>;
};

/**
 * The sizes of a public model, by the keys of `model`. What is absent is not stated by the source, or equals what the
 * format derives: key-value heads like the heads, a head of `hidden_size / num_attention_heads`.
 */
export type ModelFacts = Sizes &
  Required<Pick<Sizes, 'num_layers' | 'hidden_size' | 'num_attention_heads'>> & { readonly moe_layer_freq?: string };

/** Where the sizes of a model are stated. */
export interface ModelSource {
  readonly repository: string;
  readonly path: string;
  readonly revision: string;
}

/** A model that is known by its name. */
export interface PublicModel {
  /** The name on Hugging Face, such as `Qwen/Qwen3-30B-A3B`; torchtitan's own models are `torchtitan/llama3-8B`. */
  readonly name: string;
  readonly facts: ModelFacts;
  /** The longest sequence, in tokens, that the model is made for; undefined where the source does not say it. */
  readonly context: number | undefined;
  readonly source: ModelSource;
}
