import { expect, test } from 'vitest';
import { untraceable } from '../../test/harness/untraceable';
import { layoutOf } from '../launch/importedLayout';
import { readLaunchFile } from '../launch/read';

const CONFIGURATION = `model_name_or_path: /models/own
stage: sft
cutoff_len: 4096
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
pipeline_model_parallel_size: 4
expert_model_parallel_size: 2
use_distributed_optimizer: true
moe_token_dispatcher_type: alltoall
`;

test('a configuration says its degrees; the world is the launcher’s', () => {
  const reading = readLaunchFile('qwen3.yaml', CONFIGURATION, () => null);
  expect(reading.family).toBe('llama-factory');
  expect(untraceable(reading)).toEqual([]);
  expect(layoutOf(reading)).toMatchObject({
    launch: { family: 'llama-factory' },
    parallelism: { tp: 1, pp: 4, ep: 2 },
    sequence: { seq_length: 4096 },
    moe: { moe_token_dispatcher_type: 'alltoall' },
  });
  expect(reading.values.find(({ key }) => key === 'world_size')?.value).toBeNull();
  expect(reading.unmapped.map(({ name }) => name)).toEqual(['stage']);
});

test('its command gives the world, and with it the batch of a step', () => {
  const script = 'USE_MCA=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train qwen3.yaml\n';
  const reading = readLaunchFile('train.sh', script, (path) => (path === 'qwen3.yaml' ? CONFIGURATION : null));
  expect(reading.family).toBe('llama-factory');
  expect(untraceable(reading)).toEqual([]);
  expect(layoutOf(reading)).toMatchObject({
    cluster: { nodes: 2, gpus_per_node: 8 },
    batch: { micro_batch_size: 1, global_batch_size: 32 },
  });
});

test('a configuration without degrees is one of another trainer', () => {
  const plain = 'model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nper_device_train_batch_size: 1\n';
  expect(readLaunchFile('llama3.yaml', plain, () => null).family).toBeNull();
  const script = 'llamafactory-cli train llama3.yaml\n';
  expect(readLaunchFile('train.sh', script, (path) => (path === 'llama3.yaml' ? plain : null)).family).toBeNull();
});
