import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { deviceConnections } from './device-connections';

const one = 'environment: {CUDA_DEVICE_MAX_CONNECTIONS: 1}';
const eight = 'environment: {CUDA_DEVICE_MAX_CONNECTIONS: 8}';

test('device-connections', () => {
  const said = reports(deviceConnections, {
    'an environment that is not said': job(8, 'tp: 2'),
    'one queue': job(8, 'tp: 2', one),
    'data parallelism alone': job(8, 'tp: 1', eight),
    Blackwell: job(8, 'tp: 2', eight, 'cluster: {nodes: 1, gpus_per_node: 8, gpu: GB200}'),
    'an overlapped all-to-all': job(8, 'tp: 2, ep: 2', eight, 'moe: {overlap_moe_expert_parallel_comm: true}'),
    'FSDP with more queues': job(8, 'tp: 2', eight, 'fsdp: {enabled: true}'),
    'FSDP without a limit': job(8, 'tp: 2', 'environment: {}', 'fsdp: {torch_fsdp2: true}'),
    'more queues under tensor parallelism': job(8, 'tp: 2', eight),
    'an environment without the variable under context parallelism': job(8, 'cp: 2', 'environment: {}'),
    'an imported file that names no GPU': job(8, 'tp: 2', eight, 'launch: {family: megatron-lm}'),
    'one queue under Megatron-FSDP': job(8, 'tp: 1', one, 'fsdp: {enabled: true}'),
    'one queue under torch FSDP2': job(8, 'tp: 1', one, 'fsdp: {torch_fsdp2: true}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "more queues under tensor parallelism: error at "8": Tensor and context parallelism need one queue to the GPU before Blackwell. Use CUDA_DEVICE_MAX_CONNECTIONS 1.
      = Megatron-LM: Using tensor model parallelism or context parallelism require setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1
      = suggestion: Change CUDA_DEVICE_MAX_CONNECTIONS to 1: environment: {CUDA_DEVICE_MAX_CONNECTIONS: [-8-]{+1+}}
    an environment without the variable under context parallelism: error at "environment": Tensor and context parallelism need one queue to the GPU before Blackwell. Use CUDA_DEVICE_MAX_CONNECTIONS 1.
      = Megatron-LM: Using tensor model parallelism or context parallelism require setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1
      = suggestion: Insert CUDA_DEVICE_MAX_CONNECTIONS: 1: environment: {{+CUDA_DEVICE_MAX_CONNECTIONS: 1+}}
    an imported file that names no GPU: warning at "8": Tensor and context parallelism need one queue to the GPU before Blackwell. Use CUDA_DEVICE_MAX_CONNECTIONS 1.
      = Megatron-LM: Using tensor model parallelism or context parallelism require setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1
      = suggestion: Change CUDA_DEVICE_MAX_CONNECTIONS to 1: environment: {CUDA_DEVICE_MAX_CONNECTIONS: [-8-]{+1+}}
    one queue under Megatron-FSDP: error at "1": Megatron-FSDP needs more than one queue to the GPU. Use CUDA_DEVICE_MAX_CONNECTIONS 8, or leave it out.
      = Megatron-LM: FSDP requires CUDA_DEVICE_MAX_CONNECTIONS > 1 or unset.
      = suggestion: Change CUDA_DEVICE_MAX_CONNECTIONS to 8: environment: {CUDA_DEVICE_MAX_CONNECTIONS: [-1-]{+8+}}
      = suggestion: Remove CUDA_DEVICE_MAX_CONNECTIONS: environment: {[-CUDA_DEVICE_MAX_CONNECTIONS: 1-]}
    one queue under torch FSDP2: error at "1": torch_fsdp2 needs more than one queue to the GPU. Use CUDA_DEVICE_MAX_CONNECTIONS 8, or leave it out.
      = Megatron-LM: FSDP always requires CUDA_DEVICE_MAX_CONNECTIONS value large than one
      = suggestion: Change CUDA_DEVICE_MAX_CONNECTIONS to 8: environment: {CUDA_DEVICE_MAX_CONNECTIONS: [-1-]{+8+}}
      = suggestion: Remove CUDA_DEVICE_MAX_CONNECTIONS: environment: {[-CUDA_DEVICE_MAX_CONNECTIONS: 1-]}"
  `);
});
