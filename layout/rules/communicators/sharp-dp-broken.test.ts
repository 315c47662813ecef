import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { sharpDpBroken } from './sharp-dp-broken';

const said = (text: string) => report(sharpDpBroken, text);

test('the default group', () => {
  expect(said(job(16, 'tp: 2', 'communicators: {use_sharp: true}'))).toMatchInlineSnapshot(`
    "error[sharp-dp-broken] at "true"
    sharp_enabled_group defaults to dp, for which SHARP does not start. Use dp_replica with 2 or more optimizer instances, or use_sharp false.
    = Megatron-LM: data parallel group with CP (with GTP_remat) is not initialized
    = suggestion: Change use_sharp to false
      - communicators: {use_sharp: true}
      + communicators: {use_sharp: false}
    = suggestion: Use dp_replica with 2 optimizer instances
      - parallelism: {tp: 2}
      - communicators: {use_sharp: true}
      + parallelism: {tp: 2, num_distributed_optimizer_instances: 2}
      + communicators: {use_sharp: true, sharp_enabled_group: dp_replica}"
  `);
});

test('dp is written', () => {
  const text = job(16, 'tp: 2', 'communicators: {use_sharp: true, sharp_enabled_group: dp}');
  expect(said(text)).toMatchInlineSnapshot(`
    "error[sharp-dp-broken] at "dp"
    SHARP does not start for the group dp. Use dp_replica with 2 or more optimizer instances, or use_sharp false.
    = Megatron-LM: data parallel group with CP (with GTP_remat) is not initialized
    = suggestion: Change use_sharp to false
      - communicators: {use_sharp: true, sharp_enabled_group: dp}
      + communicators: {use_sharp: false}
    = suggestion: Use dp_replica with 2 optimizer instances
      - parallelism: {tp: 2}
      - communicators: {use_sharp: true, sharp_enabled_group: dp}
      + parallelism: {tp: 2, num_distributed_optimizer_instances: 2}
      + communicators: {use_sharp: true, sharp_enabled_group: dp_replica}"
  `);
});
