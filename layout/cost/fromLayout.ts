import { DEFAULT_ORDER, type KeyPath, type ModelKeys, type RootKeys, type SequenceKeys } from '../format/keys';
import { LANGUAGE_MODULE } from '../format/names';
import { type Field, type Section, valuesOf } from '../format/spec';
import { memoizeRecent } from '../memoize';
import { type LayoutFacts, type ModuleFacts, orderOf } from '../topology/facts';
import { defaultFfnHiddenSize } from '../topology/feedForward';
import { nvlinkDomainOf } from '../topology/nvlinkDomain';
import { isServed } from '../topology/phases';
import { patternOf, type Stage, stagePlanOf } from '../topology/stages';
import { gpuKind, isTpu, UNKNOWN_GPU } from './gpus';
import {
  BLOCKS,
  type Block,
  type Chunk,
  type ComputeType,
  type CostCommunication,
  type CostJob,
  type CostModel,
  type CostOptimizer,
  type CostSequence,
  type ExpertShape,
  type Fsdp,
  type GpuKind,
  type Hardware,
  type LatentAttention,
  type MambaShape,
  type Recompute,
  type WeightJob,
} from './job';
import { MEGATRON } from './time';

/** A job made of a layout file, or the reason why there is none. */
export type JobOfLayout = {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  /** Keys that it lacks, or that would narrow the estimate. */
  readonly missing: readonly string[];
} & (
  | {
      readonly ok: true;
      readonly job: CostJob;
      /** Whether there is a time: the kind of GPU is known, and the network where the job uses it. */
      readonly isTimed: boolean;
      /** What was assumed where the file says nothing. */
      readonly assumed: readonly string[];
    }
  | { readonly ok: false; readonly reason: string }
);

/** The jobs of a layout, one a module that has a model. The file must have no errors. A rule and a scoreboard ask for the same ones. */
export const costJobs = memoizeRecent((facts: LayoutFacts): readonly JobOfLayout[] =>
  facts.modules.map((module) => jobOfModule(facts, module)),
);

/** The weights and optimizer states of one module; or why they are not known. */
export function weightJob(facts: LayoutFacts, module: ModuleFacts): WeightJob | string {
  return new Reader(facts, module, new Notes()).weights();
}

function jobOfModule(facts: LayoutFacts, module: ModuleFacts): JobOfLayout {
  const notes = new Notes();
  const job = new Reader(facts, module, notes).job();
  const common = { module: module.name, missing: notes.missing };
  return typeof job === 'string'
    ? { ok: false, ...common, reason: job }
    : {
        ok: true,
        ...common,
        job,
        isTimed: !notes.missing.some((key) => TIME_KEYS.includes(key)),
        assumed: notes.assumed,
      };
}

/** Keys without which there is no time. */
export const TIME_KEYS: readonly string[] = ['cluster.gpu', 'cluster.network_bandwidth'];

/** What an estimate lacks where a model has layers of other kinds than those it prices. */
const NO_PATTERN = 'a pattern of attention, MLP, MoE and Mamba layers alone';

/** What a reader looked for and did not find. */
class Notes {
  readonly missing: (KeyPath | typeof NO_PATTERN)[] = [];
  readonly assumed: string[] = [];
}

type ModelSection = Section<ModelKeys>;

/** The sizes that an estimate cannot do without, and those that follow from them. */
type Sizes = Pick<CostModel, 'hiddenSize' | 'numAttentionHeads' | 'numQueryGroups' | 'kvChannels'>;

/** The sizes of a model, and what each pipeline rank holds of it. */
interface Shape {
  readonly sizes: Sizes;
  readonly stages: readonly (readonly Chunk[])[];
}

/** More layers than any model has; layers are counted one by one, also while a person types. */
const MAX_LAYERS = 10_000;

/** Reads one module of a layout, or says why it cannot. */
class Reader {
  readonly #root: Section<RootKeys>;

  constructor(
    readonly facts: LayoutFacts,
    readonly module: ModuleFacts,
    readonly notes: Notes,
  ) {
    this.#root = facts.root;
  }

  job(): CostJob | string {
    if (isTpu(this.#root.cluster.value?.gpu.value ?? '')) {
      return 'TPUs are not estimated';
    }
    const shape = this.#shape();
    const micro = this.#needed('batch.micro_batch_size', this.#root.batch.value?.micro_batch_size);
    const length = this.#needed('sequence.seq_length', this.module.sequence.value?.seq_length);
    if (!shape || micro === null || length === null) {
      return this.#lacks();
    }
    const weights = this.#weights(shape);
    if (typeof weights === 'string') {
      return weights;
    }
    const { tp, cp, dp } = weights.degrees;
    const hardware = this.#hardware();
    return {
      ...weights,
      program: this.#root.launch.value?.family.value === 'nanotron' ? 'nanotron' : 'megatron',
      batch: { micro, global: this.#globalBatch(micro, dp) },
      sequence: this.#sequence(length, tp),
      recompute: this.#recompute(),
      hardware,
      engineBytes: this.#engineBytes(hardware.gpu.memoryBytes),
      order: orderOf(this.#root) ?? DEFAULT_ORDER,
      rankOffset: this.module.rankOffset ?? 0,
      communication: this.#communication(cp),
      compute: this.#compute(),
      inputBytes: INPUT_BYTES[this.#compute()],
      quantizeBytes: this.#quantizeBytes(),
      dispatcher: this.#dispatcher(),
      groupedExperts: this.#groupedExperts(),
      captured: this.#captured(),
    };
  }

  /** What does not depend on the batch and on the machines. */
  weights(): WeightJob | string {
    const shape = this.#shape();
    return shape ? this.#weights(shape) : this.#lacks();
  }

  #weights({ sizes, stages }: Shape): WeightJob | string {
    const { degrees, dp, exptDp } = this.module;
    if (!degrees || dp === undefined || exptDp === undefined) {
      return 'the degrees do not divide the ranks';
    }
    if (degrees.gtpRemat > 1 || degrees.exptGtpRemat > 1) {
      return 'generalized tensor parallelism (gtp_remat) is not estimated';
    }
    const refused = this.#refused();
    if (refused !== null) {
      return refused;
    }
    const { tp, cp, pp, ep, exptTp } = degrees;
    return {
      model: this.#model(sizes),
      degrees: { tp, cp, pp, dp, ep, exptTp, exptDp },
      stages,
      optimizer: this.#optimizer(),
      fsdp: this.#fsdp(),
      lora: this.#lora(),
    };
  }

  #shape(): Shape | null {
    const [sizes, stages] = [this.#sizes(), this.#stages()];
    return sizes && stages && { sizes, stages };
  }

  #lacks(): string {
    return `the layout lacks ${this.notes.missing.join(', ')}`;
  }

  /** What the file asks for that no formula is for; null where there is nothing. */
  #refused(): string | null {
    const variant = this.module.model.value?.experimental_attention_variant.value;
    const optimizer = this.#root.optimizer.value?.optimizer.value;
    if (variant !== undefined) {
      return `attention of the kind ${variant} (experimental_attention_variant) is not estimated`;
    }
    return optimizer === undefined || optimizer in MOMENTS ? null : `the optimizer ${optimizer} is not estimated`;
  }

  #lora(): CostJob['lora'] {
    const rank = this.#root.lora.value?.rank.value;
    if (rank === undefined) {
      return null;
    }
    this.notes.assumed.push(`LoRA adapters of rank ${rank} beside every linear layer train, the model is frozen`);
    return { rank };
  }

  /** Notes a key that an estimate cannot do without. */
  #needed(key: KeyPath, field: Field<number> | undefined): number | null {
    if (field?.value === undefined) {
      this.notes.missing.push(key);
    }
    return field?.value ?? null;
  }

  #sizes(): Sizes | null {
    const model = this.module.model.value;
    const hiddenSize = this.#needed('model.hidden_size', model?.hidden_size);
    const numAttentionHeads = this.#needed('model.num_attention_heads', model?.num_attention_heads);
    if (hiddenSize === null || numAttentionHeads === null) {
      return null;
    }
    return {
      hiddenSize,
      numAttentionHeads,
      numQueryGroups: model?.num_query_groups.value ?? numAttentionHeads,
      kvChannels: model?.kv_channels.value ?? hiddenSize / numAttentionHeads,
    };
  }

  #model(sizes: Sizes): CostModel {
    const model = this.module.model.value;
    const sequence = this.module.sequence.value;
    // an encoder of a multimodal job has no vocabulary
    const hasVocabulary = this.module.name === null || this.module.name === LANGUAGE_MODULE;
    const vocabSize = model?.vocab_size.value ?? null;
    if (vocabSize === null && hasVocabulary) {
      this.notes.missing.push('model.vocab_size');
    }
    const position = model?.position_embedding_type.value ?? 'learned_absolute';
    const gated = model?.gated_linear_unit.value ?? false;
    const ffnHiddenSize = model?.ffn_hidden_size.value ?? defaultFfnHiddenSize(sizes.hiddenSize, gated);
    return {
      ...sizes,
      ffnHiddenSize,
      vocabSize,
      vocabDivisibleBy: model?.make_vocab_size_divisible_by.value ?? 128,
      gatedLinearUnit: gated,
      untied: model?.untie_embeddings_and_output_weights.value ?? false,
      bias: model?.add_bias_linear.value ?? true,
      rmsNorm: (model?.normalization.value ?? (gated ? 'RMSNorm' : 'LayerNorm')) === 'RMSNorm',
      learnedPositions:
        hasVocabulary && position === 'learned_absolute'
          ? (sequence?.max_seq_len.value ?? sequence?.seq_length.value ?? 0)
          : 0,
      mla: latentAttention(model),
      moe: experts(model, ffnHiddenSize),
      mamba: mamba(model, sizes.hiddenSize),
    };
  }

  /** What each pipeline rank holds, as the stages of the file say. */
  #stages(): Chunk[][] | null {
    const plan = stagePlanOf(this.facts, this.module);
    const isBounded = plan && plan.settings.numLayers + (plan.settings.mtp ?? 0) <= MAX_LAYERS;
    const stages = isBounded ? plan.stages() : null;
    if (!plan || stages === null) {
      this.notes.missing.push('model.num_layers');
      return null;
    }
    const blocks = plan.pattern === null ? layerBlocks(this.module.model.value) : patternBlocks(plan.pattern);
    if (!blocks) {
      this.notes.missing.push(NO_PATTERN);
      return null;
    }
    const ranks: Chunk[][] = [];
    for (const stage of [...stages].sort((a, b) => a.pp - b.pp || a.vpp - b.vpp)) {
      const chunks = ranks[stage.pp] ?? [];
      ranks[stage.pp] = [...chunks, chunkOf(stage, blocks)];
    }
    return ranks;
  }

  #globalBatch(micro: number, dp: number): number {
    const global = this.#root.batch.value?.global_batch_size.value;
    if (global === undefined) {
      this.notes.missing.push('batch.global_batch_size');
      this.notes.assumed.push('one micro-batch a step');
    }
    return global ?? micro * dp;
  }

  #sequence(length: number, tp: number): CostSequence {
    const sequence: Section<SequenceKeys> | undefined = this.module.sequence.value;
    return {
      length,
      sequenceParallel: (sequence?.sequence_parallel.value ?? this.#spreadsSequence(tp)) && tp > 1,
      ...this.#scores(),
      dropout: this.#dropout(),
      fusedCrossEntropy: this.module.model.value?.cross_entropy_loss_fusion.value ?? false,
      logProbs: this.#engines().length > 0,
    };
  }

  /** nanotron's configurations reduce and scatter (`tp_mode: REDUCE_SCATTER`) where they do not say otherwise. */
  #spreadsSequence(tp: number): boolean {
    const isNanotron = this.#root.launch.value?.family.value === 'nanotron';
    if (isNanotron && tp > 1) {
      this.notes.assumed.push('sequence_parallel (tp_mode REDUCE_SCATTER)');
    }
    return isNanotron;
  }

  /** Phases whose samples another program generates. */
  #engines() {
    return (this.#root.phases.value ?? []).filter(({ value }) => value && isServed(value));
  }

  /** What engines take of the GPUs that they share with the trainer. Trainer and engine hold their memory in turn. */
  #engineBytes(memory: number): number {
    if (this.#root.rl.value?.colocated.value === false) {
      return 0;
    }
    const taken = this.#engines().map(({ name, value }) => {
      const share = value?.memory_share.value;
      this.notes.assumed.push(
        share === undefined
          ? `what the engine of phase ${name} takes (memory_share) fits`
          : `the trainer's states leave the GPU while the engine of phase ${name} has its ${Math.round(100 * share)} %, and the engine gives it back`,
      );
      return (share ?? 0) * memory;
    });
    return Math.max(0, ...taken);
  }

  #scores(): Pick<CostSequence, 'scoresInMemory' | 'scoresTimed'> {
    const model = this.module.model.value;
    const backend = model?.attention_backend.value ?? 'auto';
    if (model?.transformer_impl.value === 'local' || backend === 'unfused' || backend === 'local') {
      return { scoresInMemory: true, scoresTimed: true };
    }
    // the runs by which the time on A100 was fitted had no flash attention
    const scoresTimed = backend === 'auto' && this.#gpu().name === 'a100';
    if (backend === 'auto') {
      const time = scoresTimed ? ' in memory, unfused in time (A100)' : '';
      this.notes.assumed.push(`flash or fused attention${time}`);
    }
    return { scoresInMemory: false, scoresTimed };
  }

  /** Megatron-LM drops 0.1 of the hidden states unless it is told not to; models with gated MLPs are trained without. */
  #dropout(): boolean {
    const model = this.module.model.value;
    const share = model?.hidden_dropout.value;
    const gated = model?.gated_linear_unit.value ?? false;
    if (share === undefined) {
      this.notes.assumed.push(gated ? 'no dropout, as gated models are trained' : 'hidden_dropout 0.1');
    }
    return share === undefined ? !gated : share > 0;
  }

  #optimizer(): CostOptimizer {
    const optimizer = this.#root.optimizer.value;
    const type = this.module.model.value?.params_dtype.value;
    const single = type === 'fp32';
    const aware = optimizer?.use_precision_aware_optimizer.value ?? false;
    const narrow = (dtype: string | undefined): number => (aware && dtype !== undefined ? (BYTES_OF[dtype] ?? 4) : 4);
    const main = narrow(optimizer?.main_params_dtype.value);
    const types = [optimizer?.exp_avg_dtype.value, optimizer?.exp_avg_sq_dtype.value];
    const count = MOMENTS[optimizer?.optimizer.value ?? 'adam'] ?? types.length;
    const moments = types.slice(0, count).reduce((bytes, dtype) => bytes + narrow(dtype), 0);
    const linear = this.#linearBytes(single);
    // gradients of fp16 stay as they are, those of bf16 are added up in fp32 unless the file says otherwise (megatron/training/arguments.py)
    const inHalf =
      type === 'fp16' ||
      optimizer?.grad_reduce_in_bf16.value === true ||
      (aware && optimizer?.main_grads_dtype.value === 'bf16');
    const offloaded = optimizer?.optimizer_cpu_offload.value ?? false;
    const distributed = optimizer?.use_distributed_optimizer.value ?? false;
    const overlaps = this.#overlaps(distributed);
    return {
      ...linear,
      gradBytes: inHalf && !single ? 2 : 4,
      gradCopyBytes: inHalf && !single && !aware && this.#fsdp() === 'no_shard' ? 4 : 0,
      stateBytes: offloaded ? 0 : single ? 4 * count : main + moments,
      // weights in fp32 are their own main copy, unless the distributed optimizer cuts them anew
      savedStateBytes: 4 * (single && !distributed ? count : count + 1),
      distributed,
      instances: this.#root.parallelism.value?.num_distributed_optimizer_instances.value ?? 1,
      overlapGradReduce: optimizer?.overlap_grad_reduce.value ?? overlaps,
      overlapParamGather: optimizer?.overlap_param_gather.value ?? overlaps,
    };
  }

  /**
   * Bytes of a weight of a linear layer. In 8 bits Transformer Engine keeps a copy for each side from which products read it, beside
   * 16 bits or, with `fp8_param_gather`, in place of them; Blackwell reads a scale for the whole tensor from either side.
   * Source: transformer_engine/pytorch/module/base.py (`get_weight_workspace`), tensor/float8_tensor.py.
   */
  #linearBytes(single: boolean): Pick<CostOptimizer, 'paramBytes' | 'copyBytes' | 'gatherBytes'> {
    const wide = single ? 4 : 2;
    const precision = this.#root.precision.value;
    const compute = this.#compute();
    if (compute !== 'fp8' && compute !== 'fp4') {
      // nanotron adds gradients up in fp32 and holds them in the type of the parameters too (optim/gradient_accumulator.py)
      const copyBytes = this.#root.launch.value?.family.value === 'nanotron' ? wide : 0;
      return { paramBytes: wide, copyBytes, gatherBytes: wide };
    }
    const sides = this.#isPerTensor() && /^g?b\d{3}$/.test(this.#gpu().name) ? 1 : 2;
    const copies = sides * INPUT_BYTES[compute];
    return precision?.fp8_param_gather.value
      ? { paramBytes: copies, copyBytes: 0, gatherBytes: INPUT_BYTES[compute] }
      : { paramBytes: wide, copyBytes: copies, gatherBytes: wide };
  }

  /** Whether a tensor in 8 bits has one scale. */
  #isPerTensor(): boolean {
    return ['delayed', 'tensorwise'].includes(this.#root.precision.value?.fp8_recipe.value ?? 'delayed');
  }

  #quantizeBytes(): number {
    const compute = this.#compute();
    return compute === 'fp4'
      ? QUANTIZE.fp4
      : compute === 'fp8'
        ? this.#isPerTensor()
          ? QUANTIZE.tensor
          : QUANTIZE.block
        : 0;
  }

  /**
   * Whether gradients and parameters travel beside the passes where the file does not say it: under FSDP always, with the
   * distributed optimizer as tuned runs do, but not where a launch file stands behind the layout: that says it by its flags.
   */
  #overlaps(distributed: boolean): boolean {
    if (this.#fsdp() !== 'no_shard') {
      return true;
    }
    const assumed = distributed && !this.#root.launch.written;
    const optimizer = this.#root.optimizer.value;
    if (assumed && !(optimizer?.overlap_grad_reduce.written && optimizer.overlap_param_gather.written)) {
      this.notes.assumed.push(
        'gradients and parameters travel beside the passes (overlap_grad_reduce, overlap_param_gather)',
      );
    }
    return assumed;
  }

  #communication(cp: number): CostCommunication {
    const parallelism = this.#root.parallelism.value;
    const sequence = this.module.sequence.value;
    const exchange = sequence?.cp_comm_type.value;
    // a list says it layer by layer; one that differs between layers is taken by its first
    const first = typeof exchange === 'string' || exchange === undefined ? exchange : exchange[0]?.value;
    const levels = parallelism?.hierarchical_context_parallel_sizes.value;
    const sizes = levels ? valuesOf(levels) : [];
    return {
      tensorOverlap: sequence?.tp_comm_overlap.value ?? false,
      expertOverlap: this.#root.moe.value?.overlap_moe_expert_parallel_comm.value ?? false,
      pipelineOverlap: parallelism?.overlap_p2p_comm.value ?? true,
      contextExchange: CONTEXT_EXCHANGES.find((one) => one === first) ?? 'p2p',
      contextLevels: sizes.reduce((product, size) => product * size, 1) === cp ? sizes : [],
    };
  }

  /** Scripts with expert parallelism name another dispatcher than Megatron-LM's default, which sends every token to every rank. */
  #dispatcher(): CostJob['dispatcher'] {
    const written = this.#root.moe.value?.moe_token_dispatcher_type.value;
    if (written === undefined && (this.module.degrees?.ep ?? 1) > 1) {
      this.notes.assumed.push('the alltoall dispatcher');
    }
    return written ?? 'alltoall';
  }

  /** Launch files of models with experts say `--moe-grouped-gemm`, which is not Megatron-LM's default. */
  #groupedExperts(): boolean {
    const written = this.#root.moe.value?.moe_grouped_gemm;
    if (!written?.written && !this.#root.launch.written && this.module.model.value?.num_experts.value !== undefined) {
      this.notes.assumed.push('the experts of a rank as one grouped product (moe_grouped_gemm)');
      return true;
    }
    return written?.value ?? false;
  }

  /** Blocks that CUDA graphs capture: whole layers where no modules are written (`--cuda-graph-modules`). */
  #captured(): readonly Block[] {
    const graph = this.#root.cuda_graph.value;
    const isOn =
      (graph?.cuda_graph_impl.value ?? 'none') !== 'none' ||
      graph?.enable_cuda_graph.value === true ||
      graph?.external_cuda_graph.value === true;
    const modules = graph?.cuda_graph_modules.value;
    const named = modules ? valuesOf(modules) : null;
    return isOn ? BLOCKS.filter((block) => named === null || named.includes(GRAPH_MODULES[block])) : [];
  }

  #recompute(): Recompute {
    const recompute = this.#root.recompute.value;
    switch (recompute?.granularity.value) {
      case 'full':
        // uniform recomputation keeps the input of every piece; a piece of one layer is assumed
        return {
          granularity: 'full',
          layers: recompute.method.value === 'block' ? (recompute.num_layers.value ?? null) : null,
        };
      case 'selective':
        // TransformerConfig.recompute_modules, megatron/core/transformer/transformer_config.py
        return {
          granularity: 'selective',
          modules: recompute.modules.value ? valuesOf(recompute.modules.value) : ['core_attn'],
        };
      default:
        return { granularity: 'none' };
    }
  }

  #fsdp(): Fsdp {
    const fsdp = this.#root.fsdp.value;
    return fsdp?.enabled.value || fsdp?.torch_fsdp2.value
      ? (fsdp.data_parallel_sharding_strategy.value ?? 'optim_grads_params')
      : 'no_shard';
  }

  #gpu(): GpuKind {
    const name = this.#root.cluster.value?.gpu.value;
    return (name === undefined ? undefined : gpuKind(name)) ?? UNKNOWN_GPU;
  }

  #hardware(): Hardware {
    const cluster = this.#root.cluster.value;
    const gpu = this.#gpu();
    if (gpu.name === UNKNOWN_GPU.name) {
      this.notes.missing.push('cluster.gpu');
    }
    const gpusPerNode = cluster?.gpus_per_node.value ?? this.facts.world.size ?? 1;
    const nvlink = cluster?.nvlink_bandwidth.value;
    const network = cluster?.network_bandwidth.value;
    const world = this.facts.world.size ?? gpusPerNode;
    const gpusPerNvlinkDomain = nvlinkDomainOf(this.#root, world, gpusPerNode);
    if (network === undefined && gpu.networkBytesPerSecond !== null) {
      this.notes.assumed.push(`${Math.round(gpu.networkBytesPerSecond / 1.25e8)} Gb/s of network a GPU`);
    } else if (network === undefined && world > gpusPerNvlinkDomain) {
      this.notes.missing.push('cluster.network_bandwidth');
    }
    return {
      gpu: {
        ...gpu,
        ...(cluster?.gpu_memory.value !== undefined && { memoryBytes: cluster.gpu_memory.value }),
        // a measured bandwidth is what collectives reach, the calibration expects what the link could
        ...(nvlink !== undefined && { nvlinkBytesPerSecond: nvlink / MEGATRON.nvlink }),
      },
      gpusPerNode,
      gpusPerNvlinkDomain,
      // without a known network there is no time, or nothing that travels over it
      networkBytesPerSecond:
        network !== undefined ? network / MEGATRON.network : (gpu.networkBytesPerSecond ?? Number.POSITIVE_INFINITY),
      nvlinkSeconds: cluster?.nvlink_latency.value ?? 0,
      networkSeconds: cluster?.network_latency.value ?? 0,
    };
  }

  #compute(): ComputeType {
    const precision = this.#root.precision.value;
    if (precision?.fp4_format.value !== undefined) {
      return 'fp4';
    }
    return precision?.fp8_format.value !== undefined ? 'fp8' : (this.module.model.value?.params_dtype.value ?? 'bf16');
  }
}

/** What `--cuda-graph-modules` calls the blocks. */
const GRAPH_MODULES: Readonly<Record<Block, string>> = { attention: 'attn', mlp: 'mlp', moe: 'moe', mamba: 'mamba' };

const CONTEXT_EXCHANGES = ['p2p', 'all_gather', 'a2a', 'a2a+p2p'] as const;

/** Bytes of an element of the input of a matrix product, as the backward pass keeps it: in 4 bits with a scale for every 16. */
const INPUT_BYTES: Readonly<Record<ComputeType, number>> = { fp32: 2, bf16: 2, fp16: 2, fp8: 1, fp4: 0.5625 };

/**
 * Bytes that are moved to quantize an element of 16 bits: with one scale for a tensor, whose largest value is looked for first, with one for
 * each block, and to 4 bits. By the kernels of `Reached` in gpus.ts, which make one copy, and one more for the backward pass.
 */
const QUANTIZE = { tensor: 10, block: 5, fp4: 7 };

/** States of an optimizer beside the main copy of the parameters; Muon keeps a momentum of matrices. */
const MOMENTS: Readonly<Record<string, number>> = {
  adam: 2,
  sgd: 1,
  lion: 1,
  muon: 1,
  adaptive_muon: 1,
  dist_muon: 1,
};

const BYTES_OF: Readonly<Record<string, number>> = { fp32: 4, fp16: 2, bf16: 2, fp8: 1 };

function chunkOf({ layers }: Stage, blocks: (layer: number) => readonly Block[]): Chunk {
  return {
    blocks: layers.flatMap((layer) => (/^t\d+$/.test(layer) ? blocks(Number(layer.slice(1))) : [])),
    embedding: layers.includes('embedding'),
    loss: layers.includes('loss'),
    mtp: layers.filter((layer) => layer.startsWith('mtp')).length,
  };
}

/** The blocks of each layer: attention, and an MLP or experts. */
function layerBlocks(model: ModelSection | undefined): (layer: number) => readonly Block[] {
  const isMoe = model?.num_experts.value === undefined ? () => false : expertLayers(model);
  return (layer) => ['attention', isMoe(layer) ? 'moe' : 'mlp'];
}

/** `moe_layer_freq`: every n-th layer, or a list of 0 and 1 (`get_moe_layer_freq`, megatron/training/arguments.py). */
function expertLayers(model: ModelSection): (layer: number) => boolean {
  const frequency = model.moe_layer_freq.value;
  if (frequency === undefined) {
    return () => true;
  }
  if (typeof frequency === 'number') {
    return (layer) => layer % frequency === 0;
  }
  const list =
    typeof frequency === 'string'
      ? [...frequency.matchAll(/\[([01,\s]+)\](?:\s*\*\s*(\d{1,5}))?/g)].flatMap(([, values = '', times]) =>
          Array.from({ length: Number(times ?? 1) }, () => values.split(',').map(Number)).flat(),
        )
      : valuesOf(frequency).map(Number);
  return (layer) => list[layer] === 1;
}

const SYMBOLS: Readonly<Record<string, readonly Block[]>> = {
  M: ['mamba'],
  '*': ['attention'],
  '+': ['attention'],
  '-': ['mlp'],
  E: ['moe'],
};

/** The blocks of a hybrid pattern's layers; null where it holds layers that no formula is for. */
function patternBlocks(pattern: string): ((layer: number) => readonly Block[]) | null {
  const symbols = [...(pattern.split('/')[0] ?? '').replaceAll('|', '')];
  return symbols.every((symbol) => SYMBOLS[symbol]) ? (layer) => SYMBOLS[symbols[layer] ?? ''] ?? [] : null;
}

/** MLA's ranks, with the defaults of `MLATransformerConfig` (megatron/core/transformer/transformer_config.py). */
function latentAttention(model: ModelSection | undefined): LatentAttention | null {
  return model?.multi_latent_attention.value
    ? {
        qLoraRank: model.q_lora_rank.value ?? null,
        kvLoraRank: model.kv_lora_rank.value ?? 32,
        qkHeadDim: model.qk_head_dim.value ?? 128,
        qkPosEmbHeadDim: model.qk_pos_emb_head_dim.value ?? 64,
        vHeadDim: model.v_head_dim.value ?? 128,
      }
    : null;
}

function experts(model: ModelSection | undefined, ffnHiddenSize: number): ExpertShape | null {
  const numExperts = model?.num_experts.value;
  return model && numExperts !== undefined
    ? {
        numExperts,
        topk: model.moe_router_topk.value ?? 2,
        ffnHiddenSize: model.moe_ffn_hidden_size.value ?? ffnHiddenSize,
        sharedFfnHiddenSize: model.moe_shared_expert_intermediate_size.value ?? 0,
      }
    : null;
}

/** A Mamba mixer's sizes, with the defaults of `TransformerConfig`. */
function mamba(model: ModelSection | undefined, hiddenSize: number): MambaShape | null {
  if (!model || patternOf(model) === null) {
    return null;
  }
  const headDim = model.mamba_head_dim.value ?? 64;
  const numHeads = model.mamba_num_heads.value ?? (2 * hiddenSize) / headDim;
  const states = 2 * (model.mamba_num_groups.value ?? 8) * (model.mamba_state_dim.value ?? 128);
  return { numHeads, inner: numHeads * headDim, states };
}
