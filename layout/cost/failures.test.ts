import { expect, test } from 'vitest';
import { check } from '../check';
import { failureAnswers } from './failures';
import { costJobs } from './fromLayout';

function answers(parallelism: string, failed: number) {
  const text = `layout: 1
cluster: {nodes: 8, gpus_per_node: 8, gpu: H100}
parallelism: {${parallelism}}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256}
sequence: {seq_length: 4096}
batch: {micro_batch_size: 1, global_batch_size: 256}
`;
  const { facts } = check(text);
  const [made] = facts ? costJobs(facts) : [];
  return made?.ok ? failureAnswers(made.job, failed) : [];
}

test('one failed GPU of 64 in replicas of 8: a replica, an eighth of it, or a spare node', () => {
  expect(answers('tp: 8', 1)).toEqual([
    { answer: 'drop-replicas', computeKept: 7 / 8, idleGpus: 8, gpuHoursADay: 192 },
    { answer: 'nonuniform-tp', computeKept: 1 - (1 - 28 / 32) / 8, idleGpus: 1, gpuHoursADay: 24 },
    { answer: 'spare-nodes', computeKept: 1, idleGpus: 8, gpuHoursADay: 192 },
  ]);
});

test('nonuniform TP is no answer beyond one stage, or where no TP rank is left', () => {
  expect(answers('tp: 8, pp: 2', 1)[1]).toMatchObject({ answer: 'nonuniform-tp', computeKept: null });
  expect(answers('tp: 1', 1)[1]).toMatchObject({ answer: 'nonuniform-tp', computeKept: null });
});

test('more failures than replicas stop the job when replicas are dropped', () => {
  expect(answers('tp: 8', 9)[0]).toMatchObject({ computeKept: 0, idleGpus: 64 });
});
