import { describe, expect, test } from 'vitest';
import { stageLayers } from './stageLayers';
import { factsOf } from './testing';

const layersOf = (text: string) => stageLayers(factsOf(text));

describe('the layers of pipeline stages', () => {
  test('are runs of neighbours', () => {
    expect(layersOf('world_size: 8\nparallelism: {tp: 2, pp: 4}\nmodel: {num_layers: 32}\n')).toEqual([
      { module: null, stages: ['layers 0 – 7', 'layers 8 – 15', 'layers 16 – 23', 'layers 24 – 31'] },
    ]);
  });

  test('are several runs where a stage has several model chunks', () => {
    expect(
      layersOf(
        'world_size: 4\nparallelism: {pp: 2, vpp: 2}\nmodel: {num_layers: 8}\nbatch: {micro_batch_size: 1, global_batch_size: 8}\n',
      )[0]?.stages,
    ).toEqual(['layers 0 – 1, 4 – 5', 'layers 2 – 3, 6 – 7']);
  });

  test('are left out without stages, and where the file does not say how many layers there are', () => {
    expect(layersOf('world_size: 8\nparallelism: {tp: 8}\nmodel: {num_layers: 32}\n')).toEqual([]);
    expect(layersOf('world_size: 8\nparallelism: {tp: 2, pp: 4}\n')).toEqual([]);
  });
});
