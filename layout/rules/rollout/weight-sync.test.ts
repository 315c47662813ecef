import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { weightSync } from './weight-sync';

test('weight-sync', () => {
  const of = (degrees: string, engine: string, ...rest: readonly string[]) =>
    job(16, degrees, `phases: {rollout: {${engine}}}`, ...rest);
  const said = reports(weightSync, {
    'the same cut on both sides': of('tp: 4', 'engine: vllm, tp: 4'),
    'engines of a smaller size': of('tp: 4', 'engine: vllm, tp: 2'),
    'engines of one GPU': of('tp: 4', 'engine: vllm'),
    'a pipeline that the engines do not have': of('tp: 2, pp: 4', 'engine: sglang, tp: 2'),
    'engines on GPUs of their own': of('tp: 2, pp: 2', 'engine: sglang, tp: 4', 'rl: {rollout_gpus: 8}'),
    'slime: engines on GPUs of their own': of(
      'tp: 2, pp: 2',
      'engine: sglang, tp: 4',
      'launch: {family: slime}',
      'rl: {rollout_gpus: 8}',
    ),
    'NeMo-RL: rank 0 broadcasts': of(
      'tp: 2, pp: 2',
      'engine: vllm, tp: 4',
      'launch: {family: nemo-rl}',
      'rl: {rollout_gpus: 8}',
    ),
    'verl: every rank gathers': of('tp: 4', 'engine: vllm, tp: 2', 'launch: {family: verl}'),
    'experts that engines spread otherwise': of(
      'tp: 2, ep: 4',
      'engine: vllm, tp: 2, dp: 2, ep: 4',
      'model: {num_experts: 8}',
    ),
    'FSDP cuts every tensor': of('', 'engine: vllm, tp: 2', 'launch: {family: verl, engine: fsdp}'),
    'a phase that trains': of('tp: 4', 'engine: megatron, tp: 2'),
  });
  expect(said).toMatchInlineSnapshot(`
    "engines of a smaller size: information at "2": Phase 'rollout': the weights go from tp 4 to 8 vllm engines of tp 2 after each update. Engine rank 0 keeps its part, which ranks 0, 1 hold.
    engines of one GPU: information at "rollout": Phase 'rollout': the weights go from tp 4 to 16 vllm engines of tp 1 after each update. Engine rank 0 keeps its part, which ranks 0 – 3 hold.
    a pipeline that the engines do not have: information at "2": Phase 'rollout': the weights go from tp 2 x pp 4 to 8 sglang engines of tp 2 after each update. Engine rank 0 keeps its part, which ranks 0, 4, 8, 12 hold.
    engines on GPUs of their own: information at "4": Phase 'rollout': the weights go from tp 2 x pp 2 to 2 sglang engines of tp 4 after each update. Engine rank 0 keeps its part, which ranks 0, 8 hold.
    slime: engines on GPUs of their own: information at "4": Phase 'rollout': the weights go from tp 2 x pp 2 to 2 sglang engines of tp 4 after each update. slime: rank 0 broadcasts the weights of stage 0 to 8 GPUs; rank 8 broadcasts the weights of stage 1 to 8 GPUs. Engine rank 0 keeps its part, which ranks 0, 8 hold.
    NeMo-RL: rank 0 broadcasts: information at "4": Phase 'rollout': the weights go from tp 2 x pp 2 to 2 vllm engines of tp 4 after each update. NeMo-RL: rank 0 broadcasts the weights to 8 GPUs. Engine rank 0 keeps its part, which ranks 0, 8 hold.
    verl: every rank gathers: information at "2": Phase 'rollout': the weights go from tp 4 to 8 vllm engines of tp 2 after each update. verl: every rank gathers each tensor, all weights in turn, and hands it to the engine on its GPU. Engine rank 0 keeps its part, which ranks 0, 1 hold.
    experts that engines spread otherwise: information at "2": Phase 'rollout': the weights go from tp 2 x ep 4 to 4 vllm engines of tp 2 x ep 4 after each update. Engine rank 0 keeps its part, which ranks 0, 1 hold."
  `);
});
