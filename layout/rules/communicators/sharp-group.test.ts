import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { sharpGroup } from './sharp-group';

const said = (text: string) => report(sharpGroup, text);
const sharp = (options: string) => `communicators: {${options}}`;
const TWO = 'num_distributed_optimizer_instances: 2';

test.each([
  ['SHARP off', job(16, 'tp: 2', sharp('use_sharp: false'))],
  ['SHARP across instances', job(16, `tp: 2, ${TWO}`, sharp('use_sharp: true, sharp_enabled_group: dp_replica'))],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('dp_replica with one instance', () => {
  expect(said(job(16, 'tp: 2', sharp('use_sharp: true, sharp_enabled_group: dp_replica')))).toMatchInlineSnapshot(`
    "error[sharp-group] at "dp_replica"
    dp_replica needs 2 or more optimizer instances, and there is 1. Use num_distributed_optimizer_instances 2, or use_sharp false.
    = Megatron-LM: dp_replica group requires num_distributed_optimizer_instances > 1
    = suggestion: Change use_sharp to false
      - communicators: {use_sharp: true, sharp_enabled_group: dp_replica}
      + communicators: {use_sharp: false}
    = suggestion: Use dp_replica with 2 optimizer instances
      - parallelism: {tp: 2}
      + parallelism: {tp: 2, num_distributed_optimizer_instances: 2}"
  `);
});

test('a group while use_sharp is not written', () => {
  expect(said(job(16, 'tp: 2', sharp('sharp_enabled_group: dp')))).toMatchInlineSnapshot(`
    "error[sharp-group] at "dp"
    sharp_enabled_group needs use_sharp true. Remove sharp_enabled_group, or use use_sharp true.
    = Megatron-LM: sharp_enabled_group is only valid when use_sharp is True
    = suggestion: Remove \`sharp_enabled_group\`
      - communicators: {sharp_enabled_group: dp}
      + communicators: {}"
  `);
});

test('dp_replica while use_sharp is false', () => {
  const text = job(16, `tp: 2, ${TWO}`, sharp('use_sharp: false, sharp_enabled_group: dp_replica'));
  expect(said(text)).toMatchInlineSnapshot(`
    "error[sharp-group] at "dp_replica"
    sharp_enabled_group needs use_sharp true. Remove sharp_enabled_group, or use use_sharp true.
    = Megatron-LM: sharp_enabled_group is only valid when use_sharp is True
    = at "false": use_sharp is false here
    = suggestion: Remove \`sharp_enabled_group\`
      - communicators: {use_sharp: false, sharp_enabled_group: dp_replica}
      + communicators: {use_sharp: false}
    = suggestion: Use use_sharp true
      - communicators: {use_sharp: false, sharp_enabled_group: dp_replica}
      + communicators: {use_sharp: true, sharp_enabled_group: dp_replica}"
  `);
});

test('names differ by case', () => {
  expect(said(job(16, 'tp: 2', sharp('use_sharp: true, sharp_enabled_group: DP')))).toMatchInlineSnapshot(`
    "error[sharp-group] at "DP"
    The group \`DP\` cannot use SHARP. Use dp_replica with 2 or more optimizer instances, or use_sharp false.
    = Megatron-LM: Invalid sharp_enabled_group
    = suggestion: Change use_sharp to false
      - communicators: {use_sharp: true, sharp_enabled_group: DP}
      + communicators: {use_sharp: false}
    = suggestion: Use dp_replica with 2 optimizer instances
      - parallelism: {tp: 2}
      - communicators: {use_sharp: true, sharp_enabled_group: DP}
      + parallelism: {tp: 2, num_distributed_optimizer_instances: 2}
      + communicators: {use_sharp: true, sharp_enabled_group: dp_replica}"
  `);
});

test('an empty name', () => {
  expect(said(job(16, `tp: 2, ${TWO}`, sharp('use_sharp: true, sharp_enabled_group: ""')))).toMatchInlineSnapshot(`
    "error[sharp-group] at "\\"\\""
    A group without a name cannot use SHARP. Use dp_replica with 2 or more optimizer instances, or use_sharp false.
    = Megatron-LM: Invalid sharp_enabled_group
    = suggestion: Change use_sharp to false
      - communicators: {use_sharp: true, sharp_enabled_group: ""}
      + communicators: {use_sharp: false}
    = suggestion: Use dp_replica with 2 optimizer instances
      - communicators: {use_sharp: true, sharp_enabled_group: ""}
      + communicators: {use_sharp: true, sharp_enabled_group: dp_replica}"
  `);
});
