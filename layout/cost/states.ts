import { type CostJob, HALF, largestLayer, shapeOf, type WeightJob } from './job';
import {
  adapterParameters,
  blockParameters,
  type ParameterCount,
  shapeParameters,
  vocabularies,
  vocabularyParameters,
} from './parameters';

/** Parameters of one pipeline rank, all its virtual stages together, without adapters. */
export function stageParameters(job: WeightJob, stage: number): ParameterCount {
  return shapeParameters(job, shapeOf(job, stage));
}

/** Parameters that have gradients: all, or those of the adapters beside a model that stays as it is. */
export function trainedParameters(job: WeightJob, stage: number): ParameterCount {
  return job.lora ? adapterParameters(job, shapeOf(job, stage)) : stageParameters(job, stage);
}

/** Over how many ranks sharded parameters of each kind are spread. */
const shardsOf = ({ degrees, optimizer }: WeightJob): ParameterCount => ({
  dense: Math.max(1, (degrees.dp * degrees.cp) / optimizer.instances),
  expert: Math.max(1, degrees.exptDp / optimizer.instances),
});

/** Parameters that a rank holds of these, all or its share. */
const heldOf = (job: WeightJob, { dense, expert }: ParameterCount, isSharded: boolean): number => {
  const shards = shardsOf(job);
  return isSharded ? dense / shards.dense + expert / shards.expert : dense + expert;
};

/** Parameters that a rank's optimizer updates, and whose states it holds. */
export const updatedParameters = (job: WeightJob, stage: number): number =>
  heldOf(job, trainedParameters(job, stage), job.optimizer.distributed || job.fsdp !== 'no_shard');

/**
 * Bytes of parameters, gradients and optimizer states on one rank of a pipeline stage.
 * Source: megatron/core/optimizer/distrib_optimizer.py (6 + 12 / (dp x cp) bytes a parameter in bf16 with fp32 gradients, 18
 * without sharding) and the sharding strategies of Megatron-FSDP. Embedding and output layer stay in 16 bits where the linear
 * layers are narrower.
 */
export function stateBytes(job: CostJob, stage: number): number {
  const { optimizer, lora, fsdp } = job;
  const all = stageParameters(job, stage);
  const trained = trainedParameters(job, stage);
  const vocabulary = vocabularyParameters(job) * vocabularies(job, shapeOf(job, stage));
  const held = (parameters: ParameterCount) => heldOf(job, parameters, fsdp === 'optim_grads_params');
  const spreadsGradients = fsdp === 'optim_grads' || fsdp === 'optim_grads_params';
  return (
    held({ ...all, dense: all.dense - vocabulary }) * (optimizer.paramBytes + optimizer.copyBytes) +
    held({ dense: vocabulary, expert: 0 }) * Math.max(HALF, optimizer.paramBytes) +
    (lora ? held(trained) * HALF : 0) +
    heldOf(job, trained, spreadsGradients) * optimizer.gradBytes +
    updatedParameters(job, stage) * optimizer.stateBytes
  );
}

/** Layers that are whole at a time under FSDP: one that is computed, and one that is gathered or reduced meanwhile. */
const WHOLE_LAYERS = 2;

/**
 * Bytes of the layers that FSDP holds whole for a while, in buffers of their own: gathered parameters, and gradients before they are
 * scattered (`fsdp_double_buffer` keeps the same two buffers all the time).
 * Source: megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py.
 */
export function unshardedBytes(job: CostJob, stage: number): number {
  const { fsdp, optimizer, degrees } = job;
  if (fsdp === 'no_shard' || fsdp === 'optim' || degrees.dp * degrees.cp === 1) {
    return 0;
  }
  const layer = largestLayer(shapeOf(job, stage), (block) => {
    const { dense, expert } = blockParameters(job, block);
    return dense + expert;
  });
  const parameters = fsdp === 'optim_grads_params' ? optimizer.gatherBytes : 0;
  const gradients = job.lora ? 0 : optimizer.gradBytes;
  return WHOLE_LAYERS * layer * (parameters + gradients);
}
