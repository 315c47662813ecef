import { lastPart } from '../launch/sources/paths';
import { countOf } from '../rules/numbers';
import type { ModelFacts, PublicModel } from './facts';
import table from './table.json';

export type { ModelFacts } from './facts';
export { factsOfConfig, parseConfig } from './huggingFace';

/** A row of the table: names that share sizes, the sizes, and the places in `sources` that state them. */
interface Row {
  readonly names: readonly string[];
  readonly facts: ModelFacts;
  readonly context?: number;
  readonly source: keyof typeof table.sources;
  readonly path: string;
}

/** Variants of a model that change its weights, not its sizes; they may change its vocabulary and context. */
const VARIANT = /[-_](instruct|base|chat|it|hf|fp8|bf16|fp4|nvfp4|mxfp4|thinking|torch[-_]dist|mcore|\d{4})$/i;

/** The longest name or path that is compared, in characters. */
const MAX_NAME = 400;

const MODELS: readonly PublicModel[] = (table.rows as readonly Row[]).flatMap(
  ({ names, facts, context, source, path }) =>
    names.map((name) => ({ name, facts, context, source: { ...table.sources[source], path } })),
);

const BY_NAME: ReadonlyMap<string, PublicModel> = new Map(MODELS.map((model) => [plain(model.name), model]));

/** The models of Hugging Face by the last part of their name, and by that without what names a variant. */
const BY_LAST_PART = byKey(lastPart);
const BY_BASE = byKey((name) => baseOf(lastPart(name)));

/** The models of Hugging Face by a part of their name; null where models of different sizes share it. */
function byKey(keyOf: (name: string) => string): ReadonlyMap<string, PublicModel | null> {
  const models = new Map<string, PublicModel | null>();
  for (const model of MODELS.filter(({ name }) => !name.startsWith('torchtitan/'))) {
    const key = keyOf(plain(model.name));
    const same = models.get(key);
    models.set(key, same === undefined || (same && haveSameSizes(same, model)) ? (same ?? model) : null);
  }
  return models;
}

function haveSameSizes({ facts: a }: PublicModel, { facts: b }: PublicModel): boolean {
  const keys = ['num_layers', 'hidden_size', 'num_attention_heads', 'num_query_groups', 'num_experts'] as const;
  return keys.every((key) => a[key] === b[key]);
}

/** The names of all models that are known, in the order of the table. */
export const MODEL_NAMES: readonly string[] = MODELS.map(({ name }) => name);

/**
 * The model of a name such as `Qwen/Qwen3-30B-A3B`, or of a folder that is called so (`/models/Qwen3-30B-A3B`), in any case of
 * letters. A variant such as `-Instruct` that the table lacks has the sizes of the model that it was made from, without its
 * vocabulary and context.
 * @returns undefined for a name that is not known, or that models of different sizes share
 */
export function modelNamed(name: string): PublicModel | undefined {
  const whole = plain(name);
  const model = BY_NAME.get(whole) ?? BY_LAST_PART.get(lastPart(whole));
  if (model) {
    return model;
  }
  const base = baseOf(lastPart(whole));
  const origin = BY_LAST_PART.get(base) ?? BY_BASE.get(base);
  if (!origin) {
    return undefined;
  }
  const { vocab_size: _, ...facts } = origin.facts;
  return { ...origin, facts, context: undefined };
}

/** The sizes of a public model in a few words: `48 layers, 32 heads, 128 experts`. */
export function modelText(name: string): string {
  const { num_layers: layers, num_attention_heads: heads, num_experts: experts } = modelNamed(name)?.facts ?? {};
  return [
    countOf(layers ?? 0, 'layer'),
    countOf(heads ?? 0, 'head'),
    ...(experts === undefined ? [] : [countOf(experts, 'expert')]),
  ].join(', ');
}

/** A name as it is compared: Llama 3 was once called Meta-Llama-3. */
function plain(name: string): string {
  const path = name.trim().slice(0, MAX_NAME).toLowerCase().replace('meta-llama-3', 'llama-3');
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** A name without what names a variant. */
function baseOf(name: string): string {
  const shorter = name.replace(VARIANT, '');
  return shorter === name ? name : baseOf(shorter);
}
