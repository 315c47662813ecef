import { expect, test } from 'vitest';
import { layoutFileValues } from './writtenValues';

const TEXT = `layout: 1
unheard_of: 1
parallelism: {tp: 2, unheard_of: 3}
modules:
  vision.v2: {tp: 4, model: {num_layers: 8}}
ntp: {non_active_ranks_per_dp: [{dp: 0, local_ranks: [1]}]}
`;

test('the values of a layout are those of keys of the format, whatever its modules are called', () => {
  const values = [...(layoutFileValues('a.layout.yaml', TEXT) ?? [])];
  expect(values.map(([key, { value, place }]) => [key, value, TEXT.slice(place.offset).split(/[,}\n]/)[0]])).toEqual([
    ['layout', 1, '1'],
    ['parallelism.tp', 2, '2'],
    ['modules.vision.v2.tp', 4, '4'],
    ['modules.vision.v2.model.num_layers', 8, '8'],
    ['ntp.non_active_ranks_per_dp', [{ dp: 0, local_ranks: [1] }], '[{dp: 0'],
  ]);
  expect(layoutFileValues('a.layout.yaml', '- 1\n')).toBeNull();
});
