import { expect, test } from 'vitest';
import { check } from './check';
import { keyDifferences, keyValues } from './keyDifferences';
import { job, modules } from './rules/rule';

const changes = (before: string, after: string) =>
  keyDifferences(keyValues(check(before)), keyValues(check(after))).map(
    (one) => `${one.path.join('.')}: ${one.before} -> ${one.after}`,
  );

test('every key whose value differs is listed, those that are gone last', () => {
  const before = job(16, 'tp: 4, vpp: 2', 'batch: {micro_batch_size: 1, global_batch_size: 64}', 'name: one');
  const after = job(16, 'pp: 2, tp: 2', 'batch: {micro_batch_size: 4, global_batch_size: 64}', 'name: two');
  expect(changes(before, after)).toEqual([
    'parallelism.pp: 1 -> 2',
    'parallelism.tp: 4 -> 2',
    'batch.micro_batch_size: 1 -> 4',
    'name: one -> two',
    'parallelism.vpp: 2 -> null',
  ]);
});

test.each([
  ['a default that is written', job(8, 'tp: 2'), job(8, 'tp: 2, pp: 1, order: tp-cp-ep-dp-pp')],
  ['a comment and another order of keys', job(8, 'tp: 2, pp: 2'), `# new\n${job(8, 'pp: 2, tp: 2')}`],
  [
    'another way to write a list',
    job(8, 'tp: 2', 'smoke: {checks: [groups]}'),
    job(8, 'tp: 2', 'smoke: {checks: ["groups"]}'),
  ],
])('%s is no difference', (_, before, after) => {
  expect(changes(before, after)).toEqual([]);
});

test('keys of modules are named with their module, and lists are compared as a whole', () => {
  expect(changes(modules(8, 'language: {num_ranks: 8, tp: 2}'), modules(8, 'language: {num_ranks: 8, tp: 4}'))).toEqual(
    ['modules.language.tp: 2 -> 4'],
  );
  const ntp = (ranks: string) =>
    job(8, 'tp: 4', `ntp: {tp_base: 4, tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: ${ranks}}]}`);
  expect(changes(ntp('[3]'), ntp('[2]'))).toEqual([
    'ntp.non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}] -> [{dp: 0, local_ranks: [2]}]',
  ]);
});
