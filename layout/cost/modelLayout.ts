import { check } from '../check';
import { applyEdits } from '../format/edit';
import { nearest } from '../format/nearest';
import { factsOfConfig, MODEL_NAMES, type ModelFacts, modelNamed, parseConfig } from '../models';
import { gpuKind } from './gpus';
import { keyChanges, keyEdits } from './keyChanges';

/** A model by its public name or its `config.json`; or why there is none. */
export type FoundModel = { readonly facts: ModelFacts; readonly source: string } | { readonly reason: string };

/** The sizes of a public model. @param name such as `Qwen/Qwen3-32B` or `Llama-3.1-70B` */
export function publicModel(name: string): FoundModel {
  const model = modelNamed(name);
  if (model) {
    const { repository, path } = model.source;
    return { facts: model.facts, source: `${model.name}, by ${repository}/${path}` };
  }
  const alike = likeModels(name);
  const meant = alike.length > 0 ? `did you mean ${alike.join(' or ')}?` : 'give the path of its config.json instead';
  return { reason: `there is no model ${name} in the table; ${meant}` };
}

/** How many names are offered in place of one that is not known. */
const MAX_ALIKE = 3;

/** The public models whose names hold a name, or the one that is most like it. */
function likeModels(name: string): readonly string[] {
  const parts = new Map(MODEL_NAMES.map((model) => [model.slice(model.lastIndexOf('/') + 1), model]));
  const holding = MODEL_NAMES.filter((model) => model.toLowerCase().includes(name.toLowerCase()));
  const near = parts.get(nearest(name, [...parts.keys()]) ?? '') ?? nearest(name, MODEL_NAMES);
  return holding.length > 0 ? holding.slice(0, MAX_ALIKE) : near ? [near] : [];
}

/** The sizes of a model in the text of its `config.json`. @param file its name in messages */
export function configModel(text: string, file: string): FoundModel {
  const found = factsOfConfig(parseConfig(text));
  return found ? { facts: found.facts, source: file } : { reason: `${file} states no sizes of a language model` };
}

const valueText = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : String(value));

/** The file with the sizes of another model in place of its own; null where it cannot be written. */
export function withModel(text: string, model: ModelFacts): string | null {
  const { facts } = check(text);
  const written = Object.entries(facts?.root.model.value ?? {}).flatMap(([key, { written }]) => (written ? [key] : []));
  const cleared = Object.fromEntries(written.map((key) => [key, null]));
  const sizes = Object.fromEntries(Object.entries(model).map(([key, value]) => [key, valueText(value)]));
  const edits = facts && keyEdits(facts, keyChanges('model', { ...cleared, ...sizes }));
  return edits && applyEdits(text, edits);
}

/** What a layout needs beside a model. */
export interface MachineAndBatch {
  readonly gpu: string;
  readonly gpus: number;
  readonly seqLength: number;
  readonly globalBatchSize: number;
}

/** A layout of a model alone, as Megatron-LM trains models of today: bf16, RMSNorm, rotary positions, no biases, no dropout. */
export function modelLayout(model: ModelFacts, { gpu, gpus, seqLength, globalBatchSize }: MachineAndBatch): string {
  // GB200 and GB300 have four GPUs in a node, the systems of other vendors' GPUs eight
  const perNode = Math.min(gpus, gpuKind(gpu)?.nvlinkDomain ? 4 : 8);
  const sizes = Object.entries(model).map(([key, value]) => `  ${key}: ${valueText(value)}`);
  return `layout: 1
cluster: {nodes: ${Math.ceil(gpus / perNode)}, gpus_per_node: ${perNode}, gpu: ${JSON.stringify(gpu)}}
parallelism: {tp: 1}
model:
${sizes.join('\n')}
  add_bias_linear: false
  normalization: RMSNorm
  position_embedding_type: rope
  hidden_dropout: 0
sequence: {seq_length: ${seqLength}}
batch: {micro_batch_size: 1, global_batch_size: ${globalBatchSize}}
optimizer: {use_distributed_optimizer: true}
`;
}
