import { describe, expect, test } from 'vitest';
import { type PipelineShape, scheduleOf } from './schedule';

/** What a stage does, in order: `F0.1` is the forward pass of micro-batch 0 in chunk 1. */
const orderOf = (shape: PipelineShape, stage: number): string =>
  scheduleOf(shape)
    .filter((pass) => pass.stage === stage)
    .sort((a, b) => a.start - b.start)
    .map(
      ({ isBackward, microbatch, chunk }) =>
        `${isBackward ? 'B' : 'F'}${microbatch}${shape.chunks > 1 ? `.${chunk}` : ''}`,
    )
    .join(' ');

const lengthOf = (shape: PipelineShape) => Math.max(...scheduleOf(shape).map(({ end }) => end));

describe('a pipeline schedule', () => {
  test('1F1B warms up with as many forward passes as stages follow', () => {
    const shape = { stages: 4, chunks: 1, microbatches: 6, group: 4 };
    expect(orderOf(shape, 0)).toBe('F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5');
    expect(orderOf(shape, 3)).toBe('F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5');
  });

  test('1F1B waits for stages - 1 micro-batches', () => {
    for (const [stages, microbatches] of [
      [1, 3],
      [2, 2],
      [4, 8],
      [8, 8],
    ] as const) {
      expect(lengthOf({ stages, chunks: 1, microbatches, group: stages })).toBe(3 * (microbatches + stages - 1));
    }
  });

  test('interleaving takes groups of micro-batches through all chunks and waits less', () => {
    const shape = { stages: 2, chunks: 2, microbatches: 4, group: 2 };
    expect(orderOf(shape, 0)).toBe('F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0');
    // in forward passes of a chunk: half as long as those of a stage
    expect(lengthOf(shape)).toBe(3 * 2 * 4 + 3);
  });

  test('fewer micro-batches than stages only warm up', () => {
    expect(orderOf({ stages: 4, chunks: 1, microbatches: 2, group: 4 }, 0)).toBe('F0 F1 B0 B1');
  });

  test('every chunk of every stage passes every micro-batch once in both directions', () => {
    const passes = scheduleOf({ stages: 4, chunks: 3, microbatches: 8, group: 4 });
    expect(passes).toHaveLength(4 * 3 * 8 * 2);
    expect(new Set(passes.map(({ start, end, ...pass }) => JSON.stringify(pass))).size).toBe(passes.length);
  });
});
