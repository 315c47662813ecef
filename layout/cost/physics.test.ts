import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/harness/property';
import { collectives } from './collectives';
import { GPU_NAMES, gpuKind } from './gpus';
import { type Block, blockCount, type CostDegrees, type CostJob, microbatches, shapeOf, tokensOf } from './job';
import { vocabularyParameters } from './parameters';
import { stageParameters } from './states';
import { MEGATRON, NANOTRON, stepTime } from './time';
import { sentBytes, trafficOf } from './traffic';
import { blockWork, lossWork } from './work';

const GPUS = GPU_NAMES.map(gpuKind).filter((kind) => kind !== undefined);

const DEFAULT_ORDER = 'tp-cp-ep-dp-pp';
const ORDERS = [DEFAULT_ORDER, 'tp-cp-ep-pp-dp', 'cp-tp-ep-dp-pp', 'tp-ep-dp-cp-pp'];

const power = (most: number) => fc.integer({ min: 0, max: most }).map((exponent) => 2 ** exponent);

/** Jobs of every order, GPU, sharding and way to talk, small to large; no sizes but those that real jobs have. */
const jobs: fc.Arbitrary<CostJob> = fc
  .record({
    tp: power(3),
    cp: power(2),
    pp: power(3),
    dp: power(5),
    ep: power(4),
    exptTp: power(1),
    vpp: power(1),
    layers: fc.constantFrom(1, 2, 4),
    heads: fc.constantFrom(16, 32, 64),
    micro: power(2),
    count: power(4),
    length: fc.constantFrom(1024, 4096, 8192),
    isMoe: fc.boolean(),
    gated: fc.boolean(),
    order: fc.constantFrom(...ORDERS),
    gpu: fc.constantFrom(...GPUS),
    gpusPerNode: fc.constantFrom(4, 8),
    fsdp: fc.constantFrom('no_shard', 'optim', 'optim_grads', 'optim_grads_params'),
    granularity: fc.constantFrom('none', 'selective', 'full'),
    modules: fc.subarray(['core_attn', 'mlp', 'moe', 'moe_act', 'layernorm', 'shared_experts']),
    compute: fc.constantFrom('bf16', 'fp16', 'fp8', 'fp4'),
    quantizeBytes: fc.constantFrom(0, 5, 10),
    dispatcher: fc.constantFrom('allgather', 'alltoall', 'flex'),
    captured: fc.subarray(['attention', 'mlp', 'moe'] as Block[]),
    exchange: fc.constantFrom('p2p', 'all_gather', 'a2a'),
    flags: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
  } as const)
  .map((one): CostJob => {
    const [tensorOverlap = false, expertOverlap = false, pipelineOverlap = false, sequenceParallel = false] = one.flags;
    const [distributed = false, overlapGradReduce = false, overlapParamGather = false, grouped = false] =
      one.flags.slice(4);
    const ranks = one.tp * one.cp * one.dp;
    const ep = one.isMoe ? Math.min(one.ep, ranks / Math.min(one.exptTp, ranks)) : 1;
    const exptTp = one.isMoe ? Math.min(one.exptTp, ranks) : one.tp;
    const degrees: CostDegrees = {
      tp: one.tp,
      cp: one.cp,
      pp: one.pp,
      dp: one.dp,
      ep,
      exptTp,
      exptDp: ranks / (ep * exptTp),
    };
    const vpp = one.pp > 1 ? one.vpp : 1;
    const blocks = Array.from({ length: one.layers }, () => ['attention', one.isMoe ? 'moe' : 'mlp'] as const).flat();
    return {
      program: 'megatron',
      model: {
        hiddenSize: one.heads * 128,
        ffnHiddenSize: one.heads * 512,
        numAttentionHeads: one.heads,
        numQueryGroups: one.heads / 2,
        kvChannels: 128,
        vocabSize: 128256,
        vocabDivisibleBy: 128,
        gatedLinearUnit: one.gated,
        untied: one.gated,
        bias: !one.gated,
        rmsNorm: one.gated,
        learnedPositions: 0,
        mla: null,
        moe: one.isMoe
          ? { numExperts: 64, topk: 4, ffnHiddenSize: 2048, sharedFfnHiddenSize: one.gated ? 2048 : 0 }
          : null,
        mamba: null,
      },
      degrees,
      stages: Array.from({ length: one.pp }, (_, stage) =>
        Array.from({ length: vpp }, (_, chunk) => ({
          blocks,
          embedding: stage === 0 && chunk === 0,
          loss: stage === one.pp - 1 && chunk === vpp - 1,
          mtp: 0,
        })),
      ),
      batch: { micro: one.micro, global: one.micro * one.dp * one.count },
      sequence: {
        length: one.length,
        sequenceParallel: sequenceParallel && one.tp > 1,
        scoresInMemory: false,
        scoresTimed: false,
        dropout: false,
        fusedCrossEntropy: false,
        logProbs: false,
      },
      optimizer: {
        paramBytes: 2,
        gradBytes: 4,
        gradCopyBytes: 0,
        stateBytes: 12,
        savedStateBytes: 12,
        copyBytes: 0,
        gatherBytes: 2,
        distributed,
        instances: 1,
        overlapGradReduce,
        overlapParamGather,
      },
      recompute:
        one.granularity === 'full'
          ? { granularity: 'full', layers: null }
          : one.granularity === 'selective'
            ? { granularity: 'selective', modules: one.modules }
            : { granularity: 'none' },
      fsdp: one.fsdp,
      lora: null,
      engineBytes: 0,
      hardware: {
        gpu: one.gpu,
        gpusPerNode: one.gpusPerNode,
        gpusPerNvlinkDomain: one.gpu.nvlinkDomain ?? one.gpusPerNode,
        networkBytesPerSecond: one.gpu.networkBytesPerSecond ?? 25e9,
        nvlinkSeconds: 0,
        networkSeconds: 0,
      },
      order: one.order,
      rankOffset: 0,
      communication: {
        tensorOverlap,
        expertOverlap,
        pipelineOverlap,
        contextExchange: one.exchange,
        contextLevels: [],
      },
      compute: one.compute,
      inputBytes: 2,
      quantizeBytes: one.quantizeBytes,
      dispatcher: one.dispatcher,
      groupedExperts: grouped,
      captured: one.captured,
    };
  });

const holds = (property: (job: CostJob) => void) => fc.assert(fc.property(jobs, property), runs(100));
const CALIBRATIONS = [MEGATRON, NANOTRON];
const stages = (job: CostJob) => job.stages.map((_, stage) => stage);

test('no step is shorter than its bytes over its links', () => {
  holds((job) => {
    const { gpu, networkBytesPerSecond } = job.hardware;
    const table = collectives(job);
    for (const stage of stages(job)) {
      const { nvlinkBytes, networkBytes } = sentBytes(table[stage] ?? []);
      for (const calibration of CALIBRATIONS) {
        const { seconds } = stepTime(job, calibration);
        expect(seconds).toBeGreaterThanOrEqual(nvlinkBytes / gpu.nvlinkBytesPerSecond);
        expect(seconds).toBeGreaterThanOrEqual(networkBytes / networkBytesPerSecond);
      }
    }
  });
});

test('no step is shorter than its operations at the peak, or its weights and activations at the speed of memory', () => {
  holds((job) => {
    const { gpu } = job.hardware;
    const count = microbatches(job);
    const blocks = ['attention', 'mlp', 'moe', 'mamba'] as const;
    for (const stage of stages(job)) {
      const shape = shapeOf(job, stage);
      const works = [
        ...blocks.flatMap((block) => Array.from({ length: shape.blocks[block] }, () => blockWork(job, block))),
        ...(shape.loss ? [lossWork(job)] : []),
      ];
      const flops = works.flatMap(({ products }) => products).reduce((sum, product) => sum + product.flops, 0);
      const attention = works.reduce((sum, { attentionFlops }) => sum + attentionFlops, 0);
      const moved = works.reduce((sum, { movedBytes }) => sum + movedBytes, 0);
      const { dense, expert } = stageParameters(job, stage);
      for (const calibration of CALIBRATIONS) {
        const { seconds } = stepTime(job, calibration);
        const arithmetic = flops / gpu.flops[job.compute] + attention / gpu.flops.bf16;
        expect(seconds).toBeGreaterThanOrEqual(3 * count * arithmetic);
        expect(seconds).toBeGreaterThanOrEqual((3 * count * moved) / gpu.memoryBytesPerSecond);
        // the embedding is looked up, not read; norms are few
        const read =
          (2 * count * (dense + expert - (shape.embedding ? vocabularyParameters(job) : 0))) / gpu.memoryBytesPerSecond;
        expect(seconds).toBeGreaterThanOrEqual(read * 0.99);
      }
    }
  });
});

test('the operations of a step are those of its parameters and of attention', () => {
  holds((job) => {
    if (job.model.moe) {
      return;
    }
    const { attention, mlp } = shapeOf(job, 0).blocks;
    const products = (block: 'attention' | 'mlp') =>
      blockWork(job, block).products.reduce((sum, { flops }) => sum + flops, 0);
    const h = job.model.hiddenSize;
    const layer = 2 * h * h + 2 * h * (h / 2) + (job.model.gatedLinearUnit ? 3 : 2) * h * 4 * h;
    const least = (2 * tokensOf(job) * layer * attention) / job.degrees.tp;
    expect(products('attention') * attention + products('mlp') * mlp).toBeGreaterThanOrEqual(least);
    expect(blockCount(shapeOf(job, 0))).toBe(attention + mlp);
  });
});

test('no step is longer with a faster part', () => {
  holds((job) => {
    const { hardware } = job;
    const { gpu } = hardware;
    const better: CostJob['hardware'][] = [
      { ...hardware, networkBytesPerSecond: 2 * hardware.networkBytesPerSecond },
      { ...hardware, gpu: { ...gpu, nvlinkBytesPerSecond: 2 * gpu.nvlinkBytesPerSecond } },
      { ...hardware, gpu: { ...gpu, memoryBytesPerSecond: 2 * gpu.memoryBytesPerSecond } },
      {
        ...hardware,
        gpu: {
          ...gpu,
          products: { ...gpu.products, [job.compute]: 2 * gpu.products[job.compute], bf16: 2 * gpu.products.bf16 },
          attention: 2 * gpu.attention,
        },
      },
    ];
    const { seconds } = stepTime(job);
    for (const one of better) {
      expect(stepTime({ ...job, hardware: one }).seconds).toBeLessThanOrEqual(seconds * (1 + 1e-12));
    }
  });
});

test('renaming ranks changes nothing: another first domain, or another place of a dimension of one rank', () => {
  holds((job) => {
    const { seconds } = stepTime(job);
    const domain = job.hardware.gpusPerNvlinkDomain;
    expect(stepTime({ ...job, rankOffset: 3 * domain }).seconds).toBeCloseTo(seconds, 12);
    const { cp, order } = { cp: job.degrees.cp, order: job.order };
    if (cp === 1) {
      const moved = ['cp', ...order.split('-').filter((name) => name !== 'cp')].join('-');
      expect(stepTime({ ...job, order: moved }).seconds).toBeCloseTo(seconds, 12);
    }
  });
});

test('traffic by link is the table of one rank, and bytes of a ring do not depend on where its ranks lie', () => {
  holds((job) => {
    const table = collectives(job);
    const all = stages(job).map((stage) => sentBytes(table[stage] ?? []));
    const total = Math.max(...all.map(({ nvlinkBytes, networkBytes }) => nvlinkBytes + networkBytes));
    const sum = trafficOf(job).reduce((bytes, { bytesPerStep }) => bytes + bytesPerStep, 0);
    expect(Math.abs(sum - total)).toBeLessThanOrEqual(1e-9 * total);
    const together = { ...job, hardware: { ...job.hardware, gpusPerNvlinkDomain: 1e9 } };
    const inOne = stages(job).map((stage) => sentBytes(collectives(together)[stage] ?? []));
    inOne.forEach(({ nvlinkBytes, networkBytes }, stage) => {
      expect(networkBytes).toBe(0);
      expect(nvlinkBytes).toBeGreaterThanOrEqual((all[stage]?.nvlinkBytes ?? 0) * (1 - 1e-12));
    });
  });
});

test('no kernel of a GPU reaches more than its data sheet states', () => {
  for (const { name, flops, products, attention } of GPUS) {
    for (const type of ['fp32', 'bf16', 'fp16', 'fp8', 'fp4'] as const) {
      expect(products[type] / flops[type], `${name} ${type}`).toBeGreaterThan(0.3);
      expect(products[type], `${name} ${type}`).toBeLessThanOrEqual(flops[type]);
    }
    expect(attention, name).toBeLessThan(flops.bf16);
  }
});
