import { type Block, blocksOf, type Chunk, type CostJob, HALF, microbatches, sequenceSpread, tokensOf } from './job';
import { type Link, linksOf, type Tier } from './links';
import { stageParameters } from './states';

/** What travels in one kind of process group, on the rank that sends most of it. */
export interface Traffic {
  /** The name of the group, as `groups` prints it. */
  readonly group: string;
  readonly carries: 'activations' | 'keys and values' | 'tokens' | 'gradients' | 'parameters';
  readonly collective: 'all_reduce' | 'all_gather' | 'reduce_scatter' | 'all_to_all' | 'send_recv';
  /** Bytes that one rank sends in one optimizer step. */
  readonly bytesPerStep: number;
  readonly timesPerStep: number;
  readonly tier: Tier;
}

/** What travels in one optimizer step; groups of one rank carry nothing and are left out. */
export function trafficOf(job: CostJob): Traffic[] {
  const links = linksOf(job);
  return [
    ...tensorParallel(job, links.tp),
    ...contextParallel(job, links.cp),
    ...pipelineParallel(job, links.pp),
    ...expertParallel(job, links.ep),
    ...dataParallel(job, 'dp_cp', 'dense', links.dp),
    ...dataParallel(job, 'ep_dp', 'expert', links.exptDp),
  ].filter(({ bytesPerStep }) => bytesPerStep > 0);
}

/** Blocks of a kind on the pipeline rank that has most of them. */
function blockCount(job: CostJob, counts: (block: Block) => boolean): number {
  const of = (chunks: readonly Chunk[]) => chunks.flatMap((chunk) => blocksOf(job, chunk)).filter(counts).length;
  return Math.max(...job.stages.map(of));
}

/** Bytes that a rank sends when every rank of a ring ends up with all parts of `bytes`. */
function ring(bytes: number, { ranks }: Link): number {
  return (bytes * (ranks - 1)) / ranks;
}

/** Forward passes of a block in a step: one a micro-batch, two with full recomputation. */
function forwards(job: CostJob): number {
  return microbatches(job) * (job.recompute.granularity === 'full' ? 2 : 1);
}

/**
 * One region a block and direction: an all-reduce, or with sequence parallelism a gather before and a scatter after it.
 * Source: megatron/core/tensor_parallel/mappings.py.
 */
function tensorParallel(job: CostJob, link: Link): Traffic[] {
  const { model, sequence } = job;
  if (link.ranks <= 1) {
    return [];
  }
  const hidden = HALF * tokensOf(job) * model.hiddenSize;
  const regions = blockCount(job, (block) => block !== 'moe') * (forwards(job) + microbatches(job));
  const common = { group: 'tp', carries: 'activations', timesPerStep: regions, tier: link.tier } as const;
  const bytes = ring(hidden, link) * regions;
  return sequence.sequenceParallel
    ? [
        { ...common, collective: 'all_gather', bytesPerStep: bytes },
        { ...common, collective: 'reduce_scatter', bytesPerStep: bytes },
      ]
    : [{ ...common, collective: 'all_reduce', bytesPerStep: 2 * bytes }];
}

/** Keys and values go once round the ring in the forward pass, and with their gradients in the backward pass. */
function contextParallel(job: CostJob, link: Link): Traffic[] {
  const { model, degrees } = job;
  const keyValue = (2 * HALF * tokensOf(job) * model.numQueryGroups * model.kvChannels) / degrees.tp;
  const passes = blockCount(job, (block) => block === 'attention') * (forwards(job) + 2 * microbatches(job));
  const steps = passes * (link.ranks - 1);
  const common = { group: 'cp', timesPerStep: steps, tier: link.tier };
  return [{ ...common, carries: 'keys and values', collective: 'send_recv', bytesPerStep: keyValue * steps }];
}

/** Every virtual stage sends its output on, and its gradient back. */
function pipelineParallel(job: CostJob, link: Link): Traffic[] {
  const { model, stages } = job;
  if (link.ranks <= 1) {
    return [];
  }
  const hidden = (HALF * tokensOf(job) * model.hiddenSize) / sequenceSpread(job);
  const chunks = Math.max(...stages.map(({ length }) => length));
  const times = 2 * chunks * microbatches(job);
  const common = { group: 'pp', timesPerStep: times, tier: link.tier };
  return [{ ...common, carries: 'activations', collective: 'send_recv', bytesPerStep: hidden * times }];
}

/** Tokens go to their experts and come back, in both passes; every token to `topk` experts, evenly spread. */
function expertParallel(job: CostJob, link: Link): Traffic[] {
  const { model } = job;
  const bytes = (HALF * tokensOf(job) * model.hiddenSize * (model.moe?.topk ?? 0)) / sequenceSpread(job);
  const times = 2 * blockCount(job, (block) => block === 'moe') * (forwards(job) + microbatches(job));
  const collective = job.dispatcher === 'allgather' ? 'all_gather' : 'all_to_all';
  const common = { group: 'ep', timesPerStep: times, tier: link.tier };
  return [{ ...common, carries: 'tokens', collective, bytesPerStep: ring(bytes, link) * times }];
}

/** Gradients once a step, and the parameters that a sharded optimizer has updated. */
function dataParallel(job: CostJob, group: string, kind: 'dense' | 'expert', link: Link): Traffic[] {
  const { optimizer, fsdp } = job;
  const parameters = Math.max(...job.stages.map((_, stage) => stageParameters(job, stage)[kind]));
  const sharded = optimizer.distributed || fsdp !== 'no_shard';
  const gradients = ring(parameters * optimizer.gradBytes, link);
  const common = { group, timesPerStep: 1, tier: link.tier } as const;
  return sharded
    ? [
        { ...common, carries: 'gradients', collective: 'reduce_scatter', bytesPerStep: gradients },
        ...gathers(job, common, ring(parameters * optimizer.paramBytes, link)),
      ]
    : [{ ...common, carries: 'gradients', collective: 'all_reduce', bytesPerStep: 2 * gradients }];
}

/** Sharded parameters are gathered in each pass of each micro-batch, others once after the optimizer's step. */
function gathers(job: CostJob, common: Pick<Traffic, 'group' | 'tier'>, bytes: number): Traffic[] {
  const times = job.fsdp === 'optim_grads_params' ? 2 * microbatches(job) : 1;
  return [
    { ...common, carries: 'parameters', collective: 'all_gather', bytesPerStep: bytes * times, timesPerStep: times },
  ];
}
