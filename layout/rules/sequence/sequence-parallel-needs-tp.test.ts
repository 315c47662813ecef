import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { sequenceParallelNeedsTp } from './sequence-parallel-needs-tp';

const SEQUENCE = 'sequence: {seq_length: 64, sequence_parallel: true}';

test('sequence-parallel-needs-tp', () => {
  const said = reports(sequenceParallelNeedsTp, {
    'tp above 1': job(8, 'tp: 2', SEQUENCE),
    'tp is 1': job(8, 'tp: 1', SEQUENCE),
    'tp is not written': job(8, 'cp: 2', SEQUENCE),
    'the training script switches it off': scriptJob(8, 'tp: 1', {
      sequence: 'seq_length: 64, sequence_parallel: true',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "tp is 1: warning at "true": sequence_parallel needs tp above 1. Use sequence_parallel false, or tp 2 or more.
      = Megatron-LM: Cannot use sequence parallelism without tensor parallelism
      = at "1": tp is 1 here
      = suggestion: Change sequence_parallel to false: sequence: {seq_length: 64, sequence_parallel: [-true-]{+false+}}
      = suggestion: Change tp to 2: parallelism: {tp: [-1-]{+2+}}
    tp is not written: warning at "true": sequence_parallel needs tp above 1. Use sequence_parallel false, or tp 2 or more.
      = Megatron-LM: Cannot use sequence parallelism without tensor parallelism
      = suggestion: Change sequence_parallel to false: sequence: {seq_length: 64, sequence_parallel: [-true-]{+false+}}
    the training script switches it off: warning at "true": sequence_parallel needs tp above 1. Use sequence_parallel false, or tp 2 or more.
      = at "1": tp is 1 here
      = suggestion: Change sequence_parallel to false: sequence: {seq_length: 64, sequence_parallel: [-true-]{+false+}}
      = suggestion: Change tp to 2: parallelism: {tp: [-1-]{+2+}}"
  `);
});
