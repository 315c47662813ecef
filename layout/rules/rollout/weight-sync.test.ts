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
    'a phase that trains': of('tp: 4', 'engine: megatron, tp: 2'),
  });
  expect(said).toMatchInlineSnapshot(`
    "engines of a smaller size: information at "2": Weights go from tp 4 to engines of tp 2: every rank gathers each tensor over tp 4, and each engine rank cuts 1/2 of it.
    engines of one GPU: information at "rollout": Weights go from tp 4 to engines of tp 1: every rank gathers each tensor over tp 4, and each engine rank takes all of it.
    a pipeline that the engines do not have: information at "2": Weights go from tp 2 x pp 4 to engines of tp 2: every rank gathers each tensor over tp 2 and takes those of other stages from their ranks, and each engine rank cuts 1/2 of it.
    engines on GPUs of their own: information at "4": Weights go from tp 2 x pp 2 to engines of tp 4: ranks 0, 8 (one a stage) gather each tensor over tp 2 and broadcast it to the 8 GPUs of the engines, and each engine rank cuts 1/4 of it."
  `);
});
