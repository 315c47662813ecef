import { describe, expect, test } from 'vitest';
import { inFlight, logitBytes, stageActivations } from './activations';
import { gpuKind } from './gpus';
import type { Block, CostJob } from './job';
import { linkOf } from './links';
import { memoryOf } from './memory';
import { chunkParameters } from './parameters';
import { stateBytes } from './states';
import { stepTime } from './time';
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
    },
    optimizer: {
      paramBytes: 2,
      gradBytes: 4,
      stateBytes: 12,
      distributed: false,
      instances: 1,
      overlapGradReduce: false,
      overlapParamGather: false,
    },
    recompute: { granularity: 'none' },
    fsdp: 'no_shard',
    hardware: {
      gpu: h100 as NonNullable<typeof h100>,
      gpusPerNode: 8,
      gpusPerNvlinkDomain: 8,
      networkBytesPerSecond: 50e9,
    },
    compute: 'bf16',
    dispatcher: 'alltoall',
    ...rest,
  };
}

describe('parameters', () => {
  test('of GPT-3: 12 h^2 + 13 h a layer, the vocabulary, the positions, and the last norm', () => {
    const job = gpt3();
    const single = { ...job, degrees: { ...job.degrees, tp: 1 } };
    const [[chunk] = []] = single.stages;
    const h = 12288;
    const expected = 96 * (12 * h * h + 13 * h) + 51200 * h + 2048 * h + 2 * h;
    expect(chunk && chunkParameters(single, chunk)).toEqual({ dense: expected, expert: 0 });
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
    const counted = chunkParameters(mixture, { blocks: ['moe'], embedding: false, loss: false, mtp: 0 });
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

describe('links', () => {
  const hardware = gpt3().hardware;

  test('a group inside an NVLink domain does not use the network', () => {
    expect(linkOf(hardware, 8, 1)).toEqual({ tier: 'nvlink', ranks: 8, bytesPerSecond: 450e9 });
  });

  test('members that share a node share its network cards', () => {
    expect(linkOf(hardware, 8, 8)).toEqual({ tier: 'network', ranks: 8, bytesPerSecond: 50e9 });
    expect(linkOf(hardware, 8, 2)).toEqual({ tier: 'network', ranks: 8, bytesPerSecond: 200e9 });
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
});

describe('time', () => {
  test('more micro-batches make the bubble smaller, virtual stages too', () => {
    const job = gpt3({ pp: 8 });
    const many = { ...job, batch: { micro: 1, global: 512 } };
    expect(stepTime(job).bubble).toBeCloseTo(7 / 39, 2);
    expect(stepTime(many).bubble).toBeLessThan(stepTime(job).bubble / 4);
    expect(stepTime(gpt3({ pp: 8, vpp: 2 })).bubble).toBeLessThan(stepTime(job).bubble);
  });
});
