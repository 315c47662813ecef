import { weightJob } from '../cost/fromLayout';
import { gpuKind } from '../cost/gpus';
import type { WeightJob } from '../cost/job';
import { stageParameters } from '../cost/states';
import type { Field } from '../format/spec';
import type { Framework } from '../frameworks';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { type Stage, stagePlanOf, virtualSize } from '../topology/stages';

/** How the optimizer states of a `torch_dist` checkpoint are cut (megatron/core/optimizer/distrib_optimizer.py `sharded_state_dict`). */
export type OptimizerSharding = 'dp_reshardable' | 'fully_reshardable' | 'fully_sharded_model_space';

/** What of one grid decides how its checkpoint is cut. Sizes are ranks; null where the layout does not say. */
export interface SavedState {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  readonly framework: Framework | null;
  /** Ranks in the job, and of this grid. */
  readonly world: number;
  readonly ranks: number;
  readonly tp: number;
  readonly pp: number;
  readonly vpp: number;
  readonly cp: number;
  readonly dp: number;
  readonly ep: number;
  readonly exptTp: number;
  readonly gtpRemat: number;
  readonly exptGtpRemat: number;
  /** The layers of each chunk, as text; null where the layers are not known. */
  readonly stages: string | null;
  /** The layers of each pipeline rank, its chunks together; null where they are not known. */
  readonly layers: readonly (readonly string[])[] | null;
  /** What `check_checkpoint_args` compares, by Megatron-LM's name of the argument. */
  readonly sizes: Readonly<Record<ComparedSize, number | null>>;
  readonly experts: number | null;
  /** Rows of the embedding after padding; null where the vocabulary is not known. */
  readonly paddedVocabulary: number | null;
  readonly tied: boolean;
  readonly distributedOptimizer: boolean;
  /** What ZeRO shards; 0 where it is not used. */
  readonly zeroStage: number;
  /** The type of the parameters. */
  readonly paramsType: string;
  /** The types of parameters and gradients, by which gradient buffers are named. */
  readonly bufferTypes: string;
  /** The most elements of a gradient bucket; null for one bucket a buffer. */
  readonly bucketSize: number | null;
  /** The version of Megatron-FSDP; null where it is off. */
  readonly megatronFsdp: number | null;
  readonly globalBatch: number | null;
  readonly format: string | null;
  readonly sharding: OptimizerSharding;
  /** What its weights follow from; or why that is not known. */
  readonly weights: WeightJob | string;
  readonly host: Host;
}

/** The machines that a layout names. */
export interface Host {
  readonly gpusPerNode: number;
  /** What a GPU reads through the network a second; null where neither it nor the GPU is known. */
  readonly bytesPerSecond: number | null;
  /** Whether that was measured (`cluster.network_bandwidth`), or is the network card of the vendor's systems. */
  readonly isMeasured: boolean;
}

type ComparedSize = (typeof COMPARED_SIZES)[number];

/** The sizes of a model that must be equal to load its checkpoint (megatron/training/checkpointing.py `check_checkpoint_args`). */
export const COMPARED_SIZES = ['num_layers', 'hidden_size', 'num_attention_heads'] as const;

/** What each grid of a layout saves. The file must have no errors. */
export function savedStates(facts: LayoutFacts): readonly SavedState[] {
  return facts.modules.map((module) => savedState(facts, module)).filter((state) => state !== null);
}

const known = <T>(field: Field<T> | undefined): T | null => field?.value ?? null;

function savedState(facts: LayoutFacts, module: ModuleFacts): SavedState | null {
  const { degrees, dp, ranks } = module;
  if (!degrees || dp === undefined || ranks === undefined) {
    return null;
  }
  const { root } = facts;
  const model = module.model.value;
  const optimizer = root.optimizer.value;
  const checkpoint = root.checkpoint.value;
  const stages = stagePlanOf(facts, module)?.stages() ?? null;
  const weights = weightJob(facts, module);
  const world = facts.world.size ?? ranks;
  const paramsType = model?.params_dtype.value ?? 'bf16';
  return {
    module: module.name,
    framework: facts.framework,
    world,
    ranks,
    ...degrees,
    vpp: virtualSize(facts, module) ?? 1,
    dp,
    stages: stages && JSON.stringify(stages.map(({ layers }) => layers)),
    layers: stages && layersOfRanks(stages),
    sizes: {
      num_layers: known(model?.num_layers),
      hidden_size: known(model?.hidden_size),
      num_attention_heads: known(model?.num_attention_heads),
    },
    experts: known(model?.num_experts),
    paddedVocabulary: paddedVocabulary(module, degrees.tp),
    tied: model?.untie_embeddings_and_output_weights.value !== true,
    distributedOptimizer: optimizer?.use_distributed_optimizer.value === true,
    zeroStage: optimizer?.zero_stage.value ?? 0,
    paramsType,
    bufferTypes: `${paramsType} with gradients in ${optimizer?.grad_reduce_in_bf16.value === true ? 'bf16' : 'fp32'}`,
    bucketSize:
      optimizer?.overlap_grad_reduce.value === true && !fitsOneBucket(weights)
        ? defaultBucketSize(dp * degrees.cp)
        : null,
    megatronFsdp: root.fsdp.value?.enabled.value === true ? (root.fsdp.value.megatron_fsdp_version.value ?? 1) : null,
    globalBatch: known(root.batch.value?.global_batch_size),
    format: known(checkpoint?.ckpt_format),
    sharding: checkpoint?.optimizer_sharding.value ?? 'dp_reshardable',
    weights,
    host: hostOf(facts, world),
  };
}

function layersOfRanks(stages: readonly Stage[]): string[][] {
  const ranks: string[][] = [];
  for (const { pp, layers } of stages) {
    ranks[pp] = [...(ranks[pp] ?? []), ...layers];
  }
  return ranks;
}

function hostOf({ root }: LayoutFacts, world: number): Host {
  const cluster = root.cluster.value;
  const measured = known(cluster?.network_bandwidth);
  const gpu = gpuKind(cluster?.gpu.value ?? '');
  return {
    gpusPerNode: cluster?.gpus_per_node.value ?? world,
    bytesPerSecond: measured ?? gpu?.networkBytesPerSecond ?? null,
    isMeasured: measured !== null,
  };
}

/** megatron/training/tokenizer/tokenizer.py `vocab_size_with_padding`. */
function paddedVocabulary(module: ModuleFacts, tp: number): number | null {
  const model = module.model.value;
  const size = known(model?.vocab_size);
  const multiple = (model?.make_vocab_size_divisible_by.value ?? 128) * tp;
  return size === null ? null : Math.ceil(size / multiple) * multiple;
}

/** The smallest default size of a gradient bucket, in elements. */
const SMALLEST_BUCKET = 40_000_000;

/** megatron/training/training.py `resolve_ddp_bucket_size`, where the gradients' reduction overlaps. */
function defaultBucketSize(dataParallel: number): number {
  return Math.max(SMALLEST_BUCKET, 1_000_000 * dataParallel);
}

/** Whether the weights of any rank surely lie in one bucket. */
function fitsOneBucket(job: WeightJob | string): boolean {
  return (
    typeof job !== 'string' &&
    job.model.vocabSize !== null &&
    job.stages.every((_, stage) => {
      const { dense, expert } = stageParameters(job, stage);
      return dense + expert < SMALLEST_BUCKET;
    })
  );
}

/**
 * Whether the experts' weights have an optimizer apart from the others'
 * (megatron/core/tensor_parallel/layers.py `use_expert_pgs`, megatron/core/optimizer/__init__.py).
 */
export function hasExpertOptimizer({ experts, ep, tp, exptTp, gtpRemat, exptGtpRemat }: SavedState): boolean {
  return experts !== null && (ep > 1 || exptTp !== tp || exptGtpRemat !== gtpRemat);
}
