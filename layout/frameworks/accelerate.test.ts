import { expect, test } from 'vitest';
import { untraceable } from '../../test/harness/untraceable';
import { layoutOf } from '../launch/importedLayout';
import { readLaunchFile } from '../launch/read';

const CONFIGURATION = `distributed_type: MEGATRON_LM
megatron_lm_config:
  megatron_lm_gradient_clipping: 1.0
  megatron_lm_pp_degree: 2
  megatron_lm_recompute_activations: true
  megatron_lm_sequence_parallelism: true
  megatron_lm_tp_degree: 2
  megatron_lm_use_distributed_optimizer: true
mixed_precision: bf16
num_machines: 1
num_processes: 4
`;

const EXPECTED = {
  launch: { family: 'accelerate', engine: 'megatron' },
  parallelism: { tp: 2, pp: 2 },
  sequence: { sequence_parallel: true },
  recompute: { granularity: 'selective' },
};

test('accelerate on Megatron, by its configuration', () => {
  const reading = readLaunchFile('megatron.yaml', CONFIGURATION, () => null);
  expect(untraceable(reading)).toEqual([]);
  expect(layoutOf(reading)).toMatchObject({
    ...EXPECTED,
    world_size: 4,
    model: { params_dtype: 'bf16' },
    optimizer: { use_distributed_optimizer: true },
  });
  expect(reading.unmapped.map(({ name }) => name)).toEqual([
    'distributed_type',
    'megatron_lm_config.megatron_lm_gradient_clipping',
  ]);
});

test('accelerate on Megatron, by the flags of its launcher', () => {
  const reading = readLaunchFile(
    'run.sh',
    'accelerate launch --use_megatron_lm --num_processes 8 --num_machines 1 --megatron_lm_tp_degree 2 --megatron_lm_pp_degree 2 --megatron_lm_sequence_parallelism true --megatron_lm_recompute_activations true train.py\n',
    () => null,
  );
  expect(untraceable(reading)).toEqual([]);
  expect(layoutOf(reading)).toMatchObject({ ...EXPECTED, world_size: 8 });
});

test('precision and engine are Megatron’s only where it trains', () => {
  const reading = readLaunchFile(
    'fsdp.yaml',
    'distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n',
    () => null,
  );
  expect(layoutOf(reading)).not.toMatchObject({ model: {} });
  expect(reading.unmapped.map(({ name }) => name)).toEqual(['distributed_type', 'mixed_precision']);
});
