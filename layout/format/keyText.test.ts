import { expect, test } from 'vitest';
import { specOf } from './keyPath';
import type { KeyPath } from './keys';
import { keyFacts } from './keyText';

const facts = (path: KeyPath) => {
  const spec = specOf(path);
  return spec ? keyFacts(spec).map((fact) => fact.join(' ')) : [];
};

test.each<readonly [KeyPath, readonly string[]]>([
  ['parallelism.tp', ['type whole number from 1', 'default `1`', 'Megatron-LM `--tensor-model-parallel-size`']],
  ['parallelism.expt_tp', ['type whole number from 1', 'default `tp`', 'Megatron-LM `--expert-tensor-parallel-size`']],
  [
    'parallelism.overlap_p2p_comm',
    ['type true or false', 'default `true`', 'Megatron-LM `--no-overlap-p2p-communication` for `false`'],
  ],
  [
    'model.add_bias_linear',
    ['type true or false', 'default open; `true` to Megatron-LM', 'Megatron-LM `--disable-bias-linear` for `false`'],
  ],
  ['sequence.sequence_packing_scheduler', ['type text', 'Megatron-LM `--sequence-packing-scheduler`', 'known to dev']],
  ['cluster.nodes', ['type whole number from 1', 'default required', 'Megatron-LM `--nnodes of torchrun`']],
])('%s', (path, expected) => {
  expect(facts(path)).toEqual(expected);
});
