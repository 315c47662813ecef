import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { sequenceParallelWithExperts } from './sequence-parallel-with-experts';

const said = (text: string) => report(sequenceParallelWithExperts, text);

test.each([
  ['sequence parallelism is on', job(8, 'tp: 2, ep: 2', 'sequence: {sequence_parallel: true}')],
  ['tp is 1', job(8, 'ep: 2', 'sequence: {seq_length: 64}')],
  ['the file says nothing of sequences', job(8, 'tp: 2, ep: 2')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('sequence_parallel is not written', () => {
  expect(said(job(8, 'tp: 2, ep: 2', 'sequence: {seq_length: 64}'))).toMatchInlineSnapshot(`
    "warning[sequence-parallel-with-experts] at "sequence"
    Experts with tp 2 need sequence_parallel in training. Use sequence_parallel true, or tp 1.
    = at "2": ep is 2 here
    = at "2": tp is 2 here
    = suggestion: Insert \`sequence_parallel: true\`
      - sequence: {seq_length: 64}
      + sequence: {seq_length: 64, sequence_parallel: true}"
  `);
});

test('sequence_parallel is off', () => {
  expect(said(job(8, 'tp: 2, ep: 2', 'sequence: {sequence_parallel: false}'))).toMatchInlineSnapshot(`
    "warning[sequence-parallel-with-experts] at "false"
    Experts with tp 2 need sequence_parallel in training. Use sequence_parallel true, or tp 1.
    = at "2": ep is 2 here
    = at "2": tp is 2 here
    = suggestion: Change sequence_parallel to true
      - sequence: {sequence_parallel: false}
      + sequence: {sequence_parallel: true}"
  `);
});
