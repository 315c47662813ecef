import { describe, expect, test } from 'vitest';
import { Grid } from '../grid/grid';
import { inFlight, logitBytes, stageActivations } from './activations';

import { gpuKind } from './gpus';
import { allToAll, onceADomain, placementOf, ring } from './groupPlacement';
import { type Block, type CostJob, shapeOf, shapeOfChunks } from './job';
import { memoryOf } from './memory';
import { shapeParameters } from './parameters';
import { stateBytes } from './states';
import { MEGATRON, stepTime } from './time';
import { trafficOf } from './traffic';

const h100 = gpuKind('h100');
if (!h100) {
  throw new Error('the table has no h100');
}

/** GPT-3 with 175 billion parameters, on as many GPUs as the degrees make. */
function gpt3(change: Partial<CostJob> & { readonly pp?: number; readonly vpp?: number } = {}): CostJob {
  const { pp = 1, vpp = 1, ...rest } = change;
  const layers = 96 / pp / vpp;
  const blocks = Array.from({ length: layers }, (): Block[] => ['attention', 'mlp']).flat();
  return {
    program: 'megatron',
    model: {
      hiddenSize: 12288,
      ffnHiddenSize: 49152,
      numAttentionHeads: 96,
      numQueryGroups: 96,
      kvChannels: 128,
      vocabSize: 51200,
      vocabDivisibleBy: 128,
      gatedLinearUnit: false,
      untied: false,
      bias: true,
      rmsNorm: false,
      learnedPositions: 2048,
      mla: null,
      moe: null,
      mamba: null,
    },
    degrees: { tp: 8, cp: 1, pp, dp: 2, ep: 1, exptTp: 8, exptDp: 2 },
    stages: Array.from({ length: pp }, (_, stage) =>
      Array.from({ length: vpp }, (_, chunk) => ({
        blocks,
        embedding: stage === 0 && chunk === 0,
        loss: stage === pp - 1 && chunk === vpp - 1,
        mtp: 0,
      })),
    ),
    batch: { micro: 1, global: 64 },
    sequence: {
      length: 2048,
      sequenceParallel: false,
      scoresInMemory: false,
      scoresTimed: false,
      dropout: true,
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
      distributed: false,
      instances: 1,
      overlapGradReduce: false,
      overlapParamGather: false,
    },
    recompute: { granularity: 'none' },
    fsdp: 'no_shard',
    lora: null,
    engineBytes: 0,
    hardware: {
      gpu: h100 as NonNullable<typeof h100>,
      gpusPerNode: 8,
      gpusPerNvlinkDomain: 8,
      networkBytesPerSecond: 50e9,
      nvlinkSeconds: 0,
      networkSeconds: 0,
    },
    order: 'tp-cp-ep-dp-pp',
    rankOffset: 0,
    communication: {
      tensorOverlap: false,
      expertOverlap: false,
      pipelineOverlap: true,
      contextExchange: 'p2p',
      contextLevels: [],
    },
    compute: 'bf16',
    inputBytes: 2,
    quantizeBytes: 0,
    dispatcher: 'alltoall',
    groupedExperts: true,
    captured: [],
    ...rest,
  };
}

describe('parameters', () => {
  test('of GPT-3: 12 h^2 + 13 h a layer, the vocabulary, the positions, and the last norm', () => {
    const job = gpt3();
    const single = { ...job, degrees: { ...job.degrees, tp: 1 } };
    const h = 12288;
    const expected = 96 * (12 * h * h + 13 * h) + 51200 * h + 2048 * h + 2 * h;
    expect(shapeParameters(single, shapeOf(single, 0))).toEqual({ dense: expected, expert: 0 });
    expect(expected).toBe(174_615_846_912);
  });

  test('a tied output layer is held a second time where the pipeline parts it from the embedding', () => {
    const vocabulary = (51200 * 12288) / 8;
    const job = gpt3({ pp: 2 });
    const untied = { ...job, model: { ...job.model, untied: true } };
    expect(stateBytes(job, 1)).toBe(stateBytes(untied, 1));
    expect(stateBytes(gpt3(), 0) + 18 * vocabulary).toBe(stateBytes({ ...gpt3(), model: untied.model }, 0));
  });

  test('experts are counted apart, as ep and their tensor parallelism leave them', () => {
    const moe = { numExperts: 64, topk: 8, ffnHiddenSize: 1024, sharedFfnHiddenSize: 0 };
    const job = gpt3();
    const mixture: CostJob = {
      ...job,
      model: { ...job.model, moe, bias: false, gatedLinearUnit: true },
      degrees: { ...job.degrees, ep: 8, exptTp: 1 },
    };
    const chunk = { blocks: ['moe'] as const, embedding: false, loss: false, mtp: 0 };
    const counted = shapeParameters(mixture, shapeOfChunks(mixture.model, [chunk]));
    expect(counted).toEqual({ dense: 2 * 12288 + 64 * 12288, expert: 8 * 3 * 12288 * 1024 });
  });
});

describe('states', () => {
  test('18 bytes a parameter, 6 + 12 / dp with the distributed optimizer', () => {
    const job = gpt3();
    const sharded = { ...job, optimizer: { ...job.optimizer, distributed: true } };
    expect(stateBytes(sharded, 0) / stateBytes(job, 0)).toBeCloseTo((6 + 12 / 2) / 18, 12);
  });

  test('Megatron-FSDP spreads gradients and parameters too', () => {
    const whole = stateBytes(gpt3(), 0);
    expect(stateBytes(gpt3({ fsdp: 'optim_grads' }), 0) / whole).toBeCloseTo((2 + 4 / 2 + 12 / 2) / 18, 12);
    expect(stateBytes(gpt3({ fsdp: 'optim_grads_params' }), 0) / whole).toBeCloseTo(9 / 18, 12);
  });
});

describe('activations', () => {
  test('a pipeline holds as many micro-batches as are under way', () => {
    const plain = gpt3({ pp: 4 });
    expect([0, 1, 2, 3].map((stage) => inFlight(plain, stage))).toEqual([4, 3, 2, 1]);
    const interleaved = gpt3({ pp: 4, vpp: 2 });
    expect([0, 1, 2, 3].map((stage) => inFlight(interleaved, stage))).toEqual([11, 9, 7, 5]);
    expect(inFlight({ ...plain, batch: { micro: 1, global: 4 } }, 0)).toBe(2);
  });

  test('full recomputation keeps the input of each layer alone', () => {
    const job = gpt3({ recompute: { granularity: 'full', layers: null } });
    const input = 2 * 12288 * 2048;
    expect(stageActivations(job, 0)).toBe(96 * input + input / 2);
  });

  test('sequence parallelism spreads what lies between the TP regions', () => {
    const job = gpt3();
    const spread = gpt3({ sequence: { ...job.sequence, sequenceParallel: true } });
    const sbh = 2048 * 12288;
    // a layer without it: 10 sbh + 24 sbh / tp, of which 10 become 10 / tp; the scores of 96 heads are 4 bytes a row
    expect(stageActivations(job, 0) - stageActivations(spread, 0)).toBeCloseTo((96 * 10 + 1) * sbh * (1 - 1 / 8), -3);
  });

  test('logits are held in 16 bits and in fp32', () => {
    expect(logitBytes(gpt3())).toBe(6 * 2048 * (51200 / 8));
  });

  test('the peak is states, workspace and activations', () => {
    const [stage] = memoryOf(gpt3());
    expect(stage?.peakBytes).toBe(
      (stage?.statesBytes ?? 0) + (stage?.workspaceBytes ?? 0) + (stage?.activationsBytes ?? 0),
    );
  });
});

describe('where groups lie', () => {
  const place = (dims: readonly (readonly [string, number])[], name: string, domain: number) =>
    placementOf(new Grid(dims.map(([dim, size]) => ({ name: dim, size }))).groups([name]), domain);

  test('a group inside an NVLink domain sends nothing through the network', () => {
    const tp = place([['tp', 8]], 'tp', 8);
    expect(tp).toEqual({ ranks: 8, together: 8 });
    expect(ring(800, tp)).toEqual({ nvlinkBytes: 700, networkBytes: 0 });
  });

  test('a ring leaves a domain once for its members there, which share their network cards', () => {
    const pair = place(
      [
        ['tp', 4],
        ['dp', 4],
      ],
      'dp',
      8,
    );
    expect(pair).toEqual({ ranks: 4, together: 2 });
    expect(ring(400, pair)).toEqual({ nvlinkBytes: 150, networkBytes: 150 });
  });

  test('all-to-all sends over the own card of each rank what leaves its domain', () => {
    const ep = place([['ep', 32]], 'ep', 8);
    expect(allToAll(320, ep)).toEqual({ nvlinkBytes: 70, networkBytes: 240 });
  });

  test('a token of the flex dispatcher crosses the network once for each node that has one of its experts', () => {
    const place = { ranks: 16, together: 8 };
    const { nvlinkBytes, networkBytes } = onceADomain(100, 8, place);
    // the other node has one of the eight experts in all but one of 256 cases
    expect(networkBytes).toBeCloseTo(100 * (1 - 1 / 256), 9);
    expect(networkBytes).toBeLessThan(allToAll(800, place).networkBytes / 3);
    expect(nvlinkBytes).toBeLessThanOrEqual(allToAll(800, place).nvlinkBytes + 800);
    expect(onceADomain(100, 1, { ranks: 8, together: 8 })).toEqual(allToAll(100, { ranks: 8, together: 8 }));
  });

  test('where a domain cuts groups unevenly, the fewest members of a domain count', () => {
    expect(
      place(
        [
          ['tp', 3],
          ['dp', 8],
        ],
        'tp',
        8,
      ),
    ).toEqual({ ranks: 3, together: 1 });
  });
});

describe('traffic', () => {
  test('of tensor parallelism: an all-reduce a block and pass', () => {
    const [tp] = trafficOf(gpt3());
    const passes = 192 * 2 * 32;
    expect(tp).toEqual({
      group: 'tp',
      carries: 'activations',
      collective: 'all_reduce',
      bytesPerStep: 2 * 2 * 2048 * 12288 * (7 / 8) * passes,
      timesPerStep: passes,
      tier: 'nvlink',
    });
  });

  test('of data parallelism: gradients, and parameters where the optimizer is distributed', () => {
    const job = gpt3();
    const sharded = { ...job, optimizer: { ...job.optimizer, distributed: true } };
    expect(trafficOf(job).filter(({ group }) => group === 'dp_cp')).toMatchObject([{ collective: 'all_reduce' }]);
    expect(trafficOf(sharded).filter(({ group }) => group === 'dp_cp')).toMatchObject([
      { carries: 'gradients', collective: 'reduce_scatter', tier: 'network' },
      { carries: 'parameters', collective: 'all_gather', tier: 'network' },
    ]);
  });

  test('of FSDP: parameters in both passes of every micro-batch, gradients once in each', () => {
    const rows = trafficOf(gpt3({ fsdp: 'optim_grads_params' })).filter(({ group }) => group === 'dp_cp');
    expect(rows.map(({ collective, timesPerStep }) => [collective, timesPerStep])).toEqual([
      ['reduce_scatter', 32],
      ['all_gather', 64],
    ]);
  });

  test('follows the rank order: pipelines beside one another use NVLink, data parallelism the network', () => {
    const tiers = (order: string) => {
      const job = gpt3({ pp: 4, order });
      const degrees = { ...job.degrees, tp: 2, exptTp: 2, dp: 4, exptDp: 4 };
      return Object.fromEntries(trafficOf({ ...job, degrees }).map(({ group, tier }) => [group, tier]));
    };
    expect(tiers('tp-cp-ep-dp-pp')).toMatchObject({ pp: 'network', dp_cp: 'nvlink' });
    expect(tiers('tp-cp-ep-pp-dp')).toMatchObject({ pp: 'nvlink', dp_cp: 'network' });
  });
});

describe('time', () => {
  test('what selective recomputation runs again takes its time, up to that of full recomputation', () => {
    const seconds = (...modules: string[]) =>
      stepTime(gpt3({ recompute: { granularity: 'selective', modules } })).microbatchSeconds;
    const none = stepTime(gpt3()).microbatchSeconds;
    const full = stepTime(gpt3({ recompute: { granularity: 'full', layers: null } })).microbatchSeconds;
    expect(seconds()).toBe(none);
    expect(seconds('core_attn')).toBeGreaterThan(none);
    // of a layer of GPT-3, two thirds of the products are the feed-forward network's, and less than that of the rest
    const share = (seconds('mlp') - none) / (full - none);
    expect(share).toBeGreaterThan(0.5);
    expect(share).toBeLessThan(2 / 3);
    expect(seconds('core_attn', 'mlp', 'layernorm')).toBeLessThan(full);
  });

  test('a recomputed feed-forward network talks over its tensor-parallel group once more', () => {
    const calls = (modules: string[]) =>
      trafficOf(gpt3({ recompute: { granularity: 'selective', modules } })).find(({ group }) => group === 'tp')
        ?.timesPerStep;
    expect(calls(['core_attn'])).toBe(192 * 2 * 32);
    expect(calls(['mlp'])).toBe((192 * 2 + 96) * 32);
  });

  test('small blocks cost what starting their kernels costs: each expert that is apart, and none that a graph replays', () => {
    const small = { ...gpt3().model, hiddenSize: 512, ffnHiddenSize: 512 };
    const moe = { numExperts: 64, topk: 1, ffnHiddenSize: 512, sharedFfnHiddenSize: 0 };
    const blocks: Block[] = ['attention', 'moe'];
    const job = gpt3({
      model: { ...small, moe },
      stages: [[{ blocks, embedding: true, loss: true, mtp: 0 }]],
      degrees: { tp: 1, cp: 1, pp: 1, dp: 1, ep: 1, exptTp: 1, exptDp: 1 },
      sequence: { ...gpt3().sequence, length: 64 },
    });
    const seconds = (change: Partial<CostJob>) => stepTime({ ...job, ...change }).microbatchSeconds;
    const start = MEGATRON.blockSeconds;
    // an expert's kernels are 0.6 of those of half a dense layer
    expect(seconds({ groupedExperts: false }) - seconds({})).toBeCloseTo(3 * 64 * 0.6 * start, 3);
    expect(seconds({}) - seconds({ captured: ['attention', 'moe'] })).toBeGreaterThan(3 * start);
  });

  test('more micro-batches make the bubble smaller, virtual stages too', () => {
    const job = gpt3({ pp: 8 });
    const many = { ...job, batch: { micro: 1, global: 512 } };
    // the last stage has the loss beside its layers
    expect(Math.abs(stepTime(job).bubble - 7 / 39)).toBeLessThan(0.01);
    expect(stepTime(many).bubble).toBeLessThan(stepTime(job).bubble / 4);
    expect(stepTime(gpt3({ pp: 8, vpp: 2 })).bubble).toBeLessThan(stepTime(job).bubble);
  });

  test('a pipeline goes at the speed of its slowest stage, and the others wait', () => {
    const even = gpt3({ pp: 2 });
    const [first = [], last = []] = even.stages;
    const moved = (first[0]?.blocks ?? []).slice(0, 48);
    const [few, many] = [first, last].map(([chunk], stage) => [
      { ...chunk, blocks: stage === 0 ? (chunk?.blocks ?? []).slice(48) : [...(chunk?.blocks ?? []), ...moved] },
    ]);
    const uneven = { ...even, stages: [few, many] } as CostJob;
    const [before, after] = [stepTime(even), stepTime(uneven)];
    expect(after.microbatchSeconds / before.microbatchSeconds).toBeCloseTo(72 / 48, 1);
    expect(after.bubble - before.bubble).toBeGreaterThan(0.15);
  });
});
