import { expect, test } from 'vitest';
import { check } from '../check';
import { stagePlans } from './stages';

function stagesOf(model: string) {
  const { facts } = check(`layout: 1\nworld_size: 2\nparallelism: {pp: 2}\nmodel: {${model}}\n`);
  return facts ? stagePlans(facts).map(({ stages }) => stages()) : [];
}

test('each stage lists its layers', () => {
  expect(stagesOf('num_layers: 4')).toEqual([
    [
      { module: null, pp: 0, vpp: 0, layers: ['embedding', 't0', 't1'] },
      { module: null, pp: 1, vpp: 0, layers: ['t2', 't3', 'loss'] },
    ],
  ]);
});

test.each([
  'num_layers: 1073741824',
  'num_layers: 4, mtp_num_layers: 1073741824',
  'num_layers: 4, num_layers_in_first_pipeline_stage: 1073741824',
])('layers are not listed without bound: %s', (model) => {
  expect(stagesOf(model)).toEqual([null]);
});
