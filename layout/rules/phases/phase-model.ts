import type { PhaseKeys } from '../../format/keys';
import type { Field, Section } from '../../format/spec';
import { type LayoutFacts, valueOr } from '../../topology/facts';
import { phasePlace } from '../../topology/phases';
import { changes } from '../fixes';
import { divisors, eitherNumber } from '../numbers';
import { writtenRelated } from '../related';
import type { Report, Rule } from '../rule';

/** Phases that run a model of their own, whose sizes a layout does not say. */
const OTHER_MODELS = /critic|reward/;

export const phaseModel: Rule = {
  code: 'phase-model',
  severity: 'error',
  title: 'The model does not divide among the ranks of a phase',
  effect: 'the phase stops when it builds the model',
  what: 'The `tp` of a phase does not divide `num_attention_heads`, or neither divides `num_query_groups` nor is a multiple of them; or the `pp` of a phase on Megatron Core does not divide `num_layers`. A critic or a reward model has sizes of its own and is not judged; neither is SGLang with `dp`, which takes part of `tp` for attention.',
  why: 'Each tensor-parallel rank holds whole attention heads, in an inference engine as in the trainer; key-value heads that are fewer than ranks are copied.',
  failing:
    'layout: 1\nworld_size: 8\nlaunch: {family: verl, engine: fsdp}\nmodel: {num_attention_heads: 28}\nphases: {rollout: {engine: vllm, tp: 8}}\n',
  sources: [
    '`ModelConfig.verify_with_parallel_config` in vllm/config/model.py (vllm-project/vllm)',
    '`Qwen2Attention.__init__` in python/sglang/srt/models/qwen2.py (sgl-project/sglang)',
  ],
  *check(facts) {
    for (const { name, value: phase } of facts.root.phases.value ?? []) {
      const report = phase && !OTHER_MODELS.test(name) ? phaseReport(facts, name, phase) : null;
      if (report) {
        yield report;
      }
    }
  },
};

function phaseReport(facts: LayoutFacts, name: string, phase: Section<PhaseKeys>): Report | null {
  const [module] = facts.modules;
  const model = facts.root.model.value;
  // a rollout runs in an engine, whether or not the file names it
  const engine = !phase.engine.written && name === 'rollout' ? undefined : valueOr(phase.engine, 'megatron');
  const [tp = 1, pp = 1] = [valueOr(phase.tp, 1), valueOr(phase.pp, 1)];
  const isMegatron = engine === 'megatron';
  // the trainer's own degrees have rules of their own
  const isTrainer = isMegatron && tp === (module?.degrees?.tp ?? 1) && pp === (module?.degrees?.pp ?? 1);
  if (!model || facts.heterogeneous || isTrainer) {
    return null;
  }
  const splitsAttention = engine === 'sglang' && (valueOr(phase.dp, 1) ?? 1) > 1;
  const cuts = splitsAttention ? 1 : tp;
  const isLatent = model.multi_latent_attention.value === true;
  const [heads, groups, layers] = [model.num_attention_heads, model.num_query_groups, model.num_layers];
  const ranks = phasePlace(facts, phase)?.ranks ?? 0;
  const fitsHeads = (size: number) => heads.value === undefined || heads.value % size === 0;
  const fitsGroups = (size: number) =>
    groups.value === undefined || isLatent || groups.value % size === 0 || size % groups.value === 0;
  const fitsAll = (size: number) => fitsHeads(size) && fitsGroups(size);
  const report = (degree: 'tp' | 'pp', problem: string, fits: (size: number) => boolean): Report => {
    const field: Field<number> = phase[degree];
    const better = divisors(ranks)
      .filter((size) => size <= 2 * (field.value ?? 1) && fits(size))
      .slice(-3);
    const advice = better.length > 0 ? `Use ${degree} ${eitherNumber(better)}.` : `Use another ${degree}.`;
    return {
      message: `${degree} ${degree === 'tp' ? tp : pp} of phase '${name}' ${problem}. ${advice}`,
      ...changes(degree, field, ...better.toReversed()),
    };
  };
  if (!fitsHeads(cuts)) {
    return {
      ...report('tp', `does not divide ${heads.value} attention heads`, fitsAll),
      related: writtenRelated('num_attention_heads', heads),
      ...headWords(engine, heads.value, tp),
    };
  }
  if (!fitsGroups(cuts)) {
    return {
      ...report('tp', `is neither a divisor nor a multiple of ${groups.value} key-value heads`, fitsAll),
      related: writtenRelated('num_query_groups', groups),
      ...(isMegatron && {
        predicts: `num_query_groups (${groups.value}) must be a multiple or divisor of tensor_model_parallel_size (${tp}).`,
        speaker: MEGATRON,
      }),
    };
  }
  if (isMegatron && layers.value !== undefined && layers.value % pp !== 0 && !hasOwnSplit(facts)) {
    const count = layers.value;
    return {
      ...report('pp', `does not divide ${count} layers`, (size) => count % size === 0),
      related: writtenRelated('num_layers', layers),
      predicts: `num_layers=${count} should be divisible by config.pipeline_model_parallel_size=${pp}`,
      speaker: MEGATRON,
    };
  }
  return null;
}

const MEGATRON = 'Megatron Core';

/** What an engine says of heads that its ranks cannot share; SGLang has an assertion without words. */
function headWords(engine: string | undefined, heads: number | undefined, tp: number): Partial<Report> {
  if (engine === 'megatron') {
    const predicts = `num_attention_heads (${heads}) must be a multiple of tensor_model_parallel_size (${tp}).`;
    return { predicts, speaker: MEGATRON };
  }
  const predicts = `Total number of attention heads (${heads}) must be divisible by tensor parallel size (${tp}).`;
  return engine === 'vllm' ? { predicts, speaker: 'vLLM' } : {};
}

/** Whether the layers are given to stages in another way than evenly. */
function hasOwnSplit({ root }: LayoutFacts): boolean {
  const [model, parallelism] = [root.model.value, root.parallelism.value];
  return [
    model?.num_layers_in_first_pipeline_stage,
    model?.num_layers_in_last_pipeline_stage,
    model?.hybrid_layer_pattern,
    parallelism?.pipeline_model_parallel_layout,
    parallelism?.account_for_embedding_in_pipeline_split,
    parallelism?.account_for_loss_in_pipeline_split,
  ].some((field) => field?.written);
}
