import {
  allToAll,
  type GroupPlacement,
  type GroupPlacements,
  groupPlacements,
  leavesDomain,
  onceADomain,
  pointToPoint,
  ring,
  type Sent,
} from './groupPlacement';
import {
  type CostJob,
  HALF,
  microbatches,
  recomputedShare,
  recomputes,
  type StageShape,
  sequenceSpread,
  shapeOf,
  tokensOf,
} from './job';
import { vocabularyParameters } from './parameters';
import { stageParameters, trainedParameters } from './states';

/**
 * What a collective may run behind, the narrowest first: what may run behind all computation takes what the others leave.
 * - `attention`: the attention core of its pass; `products`: the matrix products of its pass
 * - `compute`: all that the stage computes
 * - `last-backward`, `first-forward`: that pass of one micro-batch, but for the last bucket of gradients and the first of parameters
 */
export const HIDDEN_BEHIND = ['nothing', 'attention', 'products', 'last-backward', 'first-forward', 'compute'] as const;
export type HiddenBehind = (typeof HIDDEN_BEHIND)[number];

/** One kind of communication of one pipeline rank: who, what, how often, and what may hide it. */
export interface Collective extends Sent {
  /** The name of the process group, as `groups` prints it. */
  readonly group: string;
  readonly carries: 'activations' | 'keys and values' | 'tokens' | 'gradients' | 'parameters';
  readonly collective: 'all_reduce' | 'all_gather' | 'reduce_scatter' | 'all_to_all' | 'send_recv';
  /** Ranks in the group. */
  readonly ranks: number;
  /** Calls in one optimizer step. */
  readonly timesPerStep: number;
  readonly hiddenBehind: HiddenBehind;
}

/**
 * All that travels in one optimizer step, pipeline rank by pipeline rank; groups of one rank carry nothing and are left out. Time,
 * traffic and pictures are made of this table, and nothing else counts bytes. `nvlinkBytes` and `networkBytes` are what one rank
 * sends in one call.
 */
export function collectives(job: CostJob): readonly (readonly Collective[])[] {
  const placements = groupPlacements(job);
  return job.stages.map((_, stage) => stageCollectives(job, stage, placements));
}

/** The collectives of one pipeline rank. */
export function stageCollectives(job: CostJob, stage: number, placements: GroupPlacements): readonly Collective[] {
  const table = new StageTable(job, stage, placements);
  const rows = [
    ...table.tensorParallel(),
    ...table.contextParallel(),
    ...table.expertParallel(),
    ...table.pipelineParallel(),
    ...table.dataParallel('dense'),
    ...table.dataParallel('expert'),
    ...table.tiedEmbedding(),
  ];
  return rows.filter((row) => row.timesPerStep > 0 && row.nvlinkBytes + row.networkBytes > 0);
}

/** A collective before it is said how large its group is. */
type Call = Omit<Collective, 'ranks' | keyof Sent>;

/** Writes the table of one pipeline rank. */
class StageTable {
  readonly #shape: StageShape;
  readonly #count: number;
  /** Forward passes of the step: one a micro-batch, and those that full recomputation runs again. */
  readonly #forwards: number;

  constructor(
    readonly job: CostJob,
    readonly stage: number,
    readonly placements: GroupPlacements,
  ) {
    this.#shape = shapeOf(job, stage);
    this.#count = microbatches(job);
    this.#forwards = this.#count * (1 + recomputedShare(job, this.#shape));
  }

  /**
   * One region a block and pass: an all-reduce, or with sequence parallelism a gather before and a scatter after it. Experts have
   * their own (`expertParallel`), shared experts one over `tp`.
   * Source: megatron/core/tensor_parallel/mappings.py, megatron/core/transformer/moe/shared_experts.py.
   */
  tensorParallel(): Collective[] {
    const { model, sequence, communication } = this.job;
    const { attention, mlp, mamba, moe } = this.#shape.blocks;
    const shared = (model.moe?.sharedFfnHiddenSize ?? 0) > 0 ? moe : 0;
    const again =
      (recomputes(this.job, 'mlp') ? mlp : 0) +
      (recomputes(this.job, 'moe') || recomputes(this.job, 'shared_experts') ? shared : 0);
    const call = {
      group: 'tp',
      carries: 'activations',
      timesPerStep: (attention + mlp + mamba + shared) * (this.#forwards + this.#count) + again * this.#count,
      hiddenBehind: communication.tensorOverlap ? 'products' : 'nothing',
    } as const;
    const bytes = HALF * tokensOf(this.job) * model.hiddenSize;
    return sequence.sequenceParallel
      ? [
          this.#ring({ ...call, collective: 'all_gather' }, bytes, this.placements.tp),
          this.#ring({ ...call, collective: 'reduce_scatter' }, bytes, this.placements.tp),
        ]
      : [this.#allReduce(call, bytes, this.placements.tp)];
  }

  /**
   * Keys and values of the other ranks in the forward pass, and with their gradients in the backward pass: from neighbour to
   * neighbour, gathered, or exchanged for heads, or heads within a level and neighbours between levels.
   * Source: `cp_comm_type` of megatron/core/transformer/transformer_config.py.
   */
  contextParallel(): Collective[] {
    const { communication, degrees, model } = this.job;
    const { cp, cpInner, cpOuter } = this.placements;
    const tokens = tokensOf(this.job);
    const keyValue = (2 * HALF * tokens * model.numQueryGroups * model.kvChannels) / degrees.tp;
    const queryOutput = (2 * HALF * tokens * model.numAttentionHeads * model.kvChannels) / degrees.tp;
    const passes = this.#shape.blocks.attention * (this.#forwards + 2 * this.#count);
    const call = { group: 'cp', carries: 'keys and values', timesPerStep: passes } as const;
    const around = (place: GroupPlacement, bytes: number): Collective =>
      this.#row(
        {
          ...call,
          collective: 'send_recv',
          timesPerStep: passes * (place.ranks - 1),
          hiddenBehind: 'attention',
        },
        pointToPoint(bytes, leavesDomain(place)),
        place.ranks,
      );
    const exchanged = (place: GroupPlacement): Collective =>
      this.#row(
        { ...call, collective: 'all_to_all', hiddenBehind: 'nothing' },
        allToAll(keyValue + queryOutput, place),
        place.ranks,
      );
    switch (communication.contextExchange) {
      case 'p2p':
        return [around(cp, keyValue)];
      case 'all_gather':
        return [this.#ring({ ...call, collective: 'all_gather', hiddenBehind: 'nothing' }, keyValue * cp.ranks, cp)];
      case 'a2a':
        return [exchanged(cp)];
      case 'a2a+p2p':
        return [exchanged(cpInner), around(cpOuter, keyValue)];
    }
  }

  /**
   * Tokens go to their experts and come back, in both passes; every token to `topk` experts, evenly spread. Tensor-parallel experts
   * gather the tokens of their group and scatter the results. The all-gather dispatcher sends every token to every rank, the flex
   * dispatcher once to each rank that has one of its experts.
   * Source: megatron/core/transformer/moe/token_dispatcher.py.
   */
  expertParallel(): Collective[] {
    const { model, dispatcher, communication } = this.job;
    const { ep, exptTp } = this.placements;
    const again = recomputes(this.job, 'moe') ? this.#count : 0;
    const passes = this.#shape.blocks.moe * (this.#forwards + again + this.#count);
    const hidden = (HALF * tokensOf(this.job) * model.hiddenSize) / sequenceSpread(this.job);
    const call = {
      carries: 'tokens',
      hiddenBehind: communication.expertOverlap ? 'compute' : 'nothing',
      timesPerStep: passes,
    } as const;
    const gathered = (group: string, bytes: number, place: GroupPlacement): Collective[] => [
      this.#ring({ ...call, group, collective: 'all_gather' }, bytes, place),
      this.#ring({ ...call, group, collective: 'reduce_scatter' }, bytes, place),
    ];
    if (dispatcher === 'allgather') {
      return [...gathered('ep', hidden * ep.ranks, ep), ...gathered('ep_tp', hidden * ep.ranks * exptTp.ranks, exptTp)];
    }
    const routed = hidden * (model.moe?.topk ?? 0);
    return [
      this.#row(
        { ...call, group: 'ep', collective: 'all_to_all', timesPerStep: 2 * passes },
        dispatcher === 'flex' ? onceADomain(hidden, model.moe?.topk ?? 0, ep) : allToAll(routed, ep),
        ep.ranks,
      ),
      ...gathered('ep_tp', routed * exptTp.ranks, exptTp),
    ];
  }

  /** Every virtual stage but the last sends its output on, every one but the first its gradient back. */
  pipelineParallel(): Collective[] {
    const { job, stage } = this;
    const stages = job.stages.length;
    const bytes = (HALF * tokensOf(job) * job.model.hiddenSize) / sequenceSpread(job);
    const { chunks } = this.#shape;
    const call = {
      group: 'pp',
      carries: 'activations',
      collective: 'send_recv',
      // the interleaved schedule sends while it computes another chunk
      hiddenBehind: job.communication.pipelineOverlap && chunks > 1 ? 'compute' : 'nothing',
    } as const;
    const { pipelineCrosses } = this.placements;
    const on = stage === stages - 1 ? chunks - 1 : chunks;
    const back = stage === 0 ? chunks - 1 : chunks;
    const leaves = (edge: number) => pipelineCrosses[edge] ?? false;
    return [
      this.#row({ ...call, timesPerStep: on * this.#count }, pointToPoint(bytes, leaves(stage)), stages),
      this.#row(
        { ...call, timesPerStep: back * this.#count },
        pointToPoint(bytes, leaves((stage + stages - 1) % stages)),
        stages,
      ),
    ].filter(() => stages > 1);
  }

  /**
   * Gradients, and the parameters that a sharded optimizer has updated: once a step; where gradients or parameters are sharded, in
   * each pass of each micro-batch. Several optimizer instances reduce shards inside each and then between them.
   * Source: megatron/core/distributed/param_and_grad_buffer.py, megatron/core/distributed/fsdp.
   */
  dataParallel(kind: 'dense' | 'expert'): Collective[] {
    const { optimizer, fsdp } = this.job;
    // FSDP gathers all parameters, an optimizer those that it has updated
    const gathered = fsdp === 'optim_grads_params' ? stageParameters : trainedParameters;
    const names = kind === 'dense' ? ['dp_cp', 'intra_dp_cp'] : ['ep_dp', 'intra_ep_dp'];
    const group = names[optimizer.instances > 1 ? 1 : 0] ?? '';
    const place = kind === 'dense' ? this.placements.dp : this.placements.exptDp;
    const between = kind === 'dense' ? this.placements.dpInstances : this.placements.exptDpInstances;
    const reduces = fsdp === 'optim_grads' || fsdp === 'optim_grads_params' ? this.#count : 1;
    const gathers = fsdp === 'optim_grads_params' ? 2 * this.#count : 1;
    const ofStep = reduces === 1;
    const reduce = {
      group,
      carries: 'gradients',
      timesPerStep: reduces,
      hiddenBehind: optimizer.overlapGradReduce ? (ofStep ? 'last-backward' : 'compute') : 'nothing',
    } as const;
    const gather = {
      group,
      carries: 'parameters',
      collective: 'all_gather',
      timesPerStep: gathers,
      hiddenBehind: optimizer.overlapParamGather ? (gathers === 1 ? 'first-forward' : 'compute') : 'nothing',
    } as const;
    const gradients = trainedParameters(this.job, this.stage)[kind] * optimizer.gradBytes;
    if (!optimizer.distributed && fsdp === 'no_shard') {
      return [this.#allReduce(reduce, gradients, place)];
    }
    return [
      this.#ring({ ...reduce, collective: 'reduce_scatter' }, gradients, place),
      this.#allReduce({ ...reduce, group: 'inter_ep_dp', timesPerStep: 1 }, gradients / place.ranks, between),
      this.#ring(gather, gathered(this.job, this.stage)[kind] * optimizer.gatherBytes, place),
    ];
  }

  /** The gradients of an embedding that the first and the last stage share (megatron/core/distributed/finalize_model_grads.py). */
  tiedEmbedding(): Collective[] {
    const { model, optimizer, stages } = this.job;
    const { embedding, loss } = this.#shape;
    const isEnd = stages.length > 1 && embedding !== loss && !model.untied && !this.job.lora;
    const call = {
      group: 'embd',
      carries: 'gradients',
      timesPerStep: 1,
      hiddenBehind: 'nothing',
    } as const;
    const bytes = vocabularyParameters(this.job) * optimizer.gradBytes;
    return isEnd ? [this.#allReduce(call, bytes, this.placements.embedding)] : [];
  }

  #row(call: Call, sent: Sent, ranks: number): Collective {
    const { group, carries, collective, timesPerStep, hiddenBehind } = call;
    const { nvlinkBytes, networkBytes } = sent;
    // field by field: a plan makes a million of these, and spreading takes five times as long
    return {
      group,
      carries,
      collective,
      ranks,
      timesPerStep,
      hiddenBehind,
      nvlinkBytes,
      networkBytes,
    };
  }

  #ring(call: Call, bytes: number, place: GroupPlacement): Collective {
    return this.#row(call, ring(bytes, place), place.ranks);
  }

  /** A ring all-reduce turns twice. */
  #allReduce(call: Omit<Call, 'collective'>, bytes: number, place: GroupPlacement): Collective {
    return this.#ring({ ...call, collective: 'all_reduce' }, 2 * bytes, place);
  }
}
