import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { deepspeedPipeline } from './deepspeed-pipeline';

test('deepspeed-pipeline', () => {
  const of = (degrees: string, stage: number, launch = 'family: megatron-lm, engine: deepspeed') =>
    job(8, degrees, `launch: {${launch}}`, `optimizer: {zero_stage: ${stage}}`);
  const said = reports(deepspeedPipeline, {
    'ZeRO 1 beside a pipeline': of('pp: 2', 1),
    'ZeRO 2 beside a pipeline': of('pp: 2', 2),
    'ZeRO 3 without one': of('tp: 2', 3),
    'Ulysses alone': of('ulysses: 4', 3),
    'Ulysses beside tensor parallelism': of('ulysses: 4, tp: 2', 1),
    'Ulysses beside both': of('ulysses: 2, tp: 2, pp: 2', 1),
    'Megatron-LM itself has no ZeRO': of('pp: 2', 2, 'family: megatron-lm'),
    'activations that are cut twice':
      'layout: 1\nworld_size: 8\nlaunch: {family: megatron-lm, engine: deepspeed}\nparallelism: {tp: 2, pp: 2}\nsequence: {sequence_parallel: true}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "ZeRO 2 beside a pipeline: error at "2": ZeRO 2 shards gradients, which a pipeline of pp 2 does not allow. Use zero_stage 1, or pp 1.
      = Megatron-DeepSpeed: ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism
      = at "2": pp is 2 here
      = suggestion: Change zero_stage to 1: optimizer: {zero_stage: [-2-]{+1+}}
      = suggestion: Change pp to 1: parallelism: {pp: [-2-]{+1+}}
    Ulysses beside tensor parallelism: error at "4": ulysses 4 does not work with tp 2. Use ulysses 1, or tp 1.
      = Megatron-DeepSpeed: DeepSpeed's sequence parallel does not work with tensor parallel or pipeline parallel
      = at "2": tp is 2 here
      = suggestion: Remove ulysses: parallelism: {[-ulysses: 4, -]tp: 2}
    Ulysses beside both: error at "2": ulysses 2 does not work with tp 2 and pp 2. Use ulysses 1, or tp 1 and pp 1.
      = Megatron-DeepSpeed: DeepSpeed's sequence parallel does not work with tensor parallel or pipeline parallel
      = at "2": tp is 2 here
      = at "2": pp is 2 here
      = suggestion: Remove ulysses: parallelism: {[-ulysses: 2, -]tp: 2, pp: 2}
    activations that are cut twice: warning at "true": sequence_parallel beside pp 2 and tp 2: DeepSpeed's pipeline cuts the activations that it sends along tp, and gathers them behind; those that are cut already come out as others. Use sequence_parallel false, or pp 1.
      = at "2": tp is 2 here
      = at "2": pp is 2 here
      = suggestion: Remove sequence_parallel: sequence: {[-sequence_parallel: true-]}
      = suggestion: Change pp to 1: parallelism: {tp: 2, pp: [-2-]{+1+}}"
  `);
});
