import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { tpCommOverlapLength } from './tp-comm-overlap-length';

const overlapped = (keys: string) => `sequence: {sequence_parallel: true, tp_comm_overlap: true, ${keys}}`;

test('tp-comm-overlap-length', () => {
  const said = reports(tpCommOverlapLength, {
    'equal lengths': job(8, 'tp: 2', overlapped('seq_length: 8192, max_seq_len: 8192')),
    'max_seq_len is not written': job(8, 'tp: 2', overlapped('seq_length: 8192')),
    'another length': job(8, 'tp: 2', overlapped('seq_length: 4096, max_seq_len: 8192')),
  });
  expect(said).toMatchInlineSnapshot(`
    "another length: error at "4096": tp_comm_overlap needs seq_length to equal max_seq_len: they are 4096 and 8192. Use one of them for both.
      = Megatron-LM: TP Comm overlap requires Vision+Text token length == language_max_sequence_length
      = at "8192": max_seq_len is 8192 here
      = suggestion: Change seq_length to 8192: sequence: {sequence_parallel: true, tp_comm_overlap: true, seq_length: [-4096-]{+8192+}, max_seq_len: 8192}
      = suggestion: Change max_seq_len to 4096: sequence: {sequence_parallel: true, tp_comm_overlap: true, seq_length: 4096, max_seq_len: [-8192-]{+4096+}}"
  `);
});
