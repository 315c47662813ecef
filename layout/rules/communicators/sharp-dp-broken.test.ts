import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { sharpDpBroken } from './sharp-dp-broken';

test('sharp-dp-broken', () => {
  const said = reports(sharpDpBroken, {
    'the default group': job(16, 'tp: 2', 'communicators: {use_sharp: true}'),
    'dp is written': job(16, 'tp: 2', 'communicators: {use_sharp: true, sharp_enabled_group: dp}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "the default group: error at "true": sharp_enabled_group defaults to dp, for which SHARP does not start. Use dp_replica with 2 or more optimizer instances, or use_sharp false.
      = Megatron-LM: data parallel group with CP (with GTP_remat) is not initialized
      = suggestion: Change use_sharp to false: communicators: {use_sharp: [-true-]{+false+}}
      = suggestion: Use dp_replica with 2 optimizer instances: parallelism: {tp: 2{+, num_distributed_optimizer_instances: 2+}} | communicators: {use_sharp: true{+, sharp_enabled_group: dp_replica+}}
    dp is written: error at "dp": SHARP does not start for the group dp. Use dp_replica with 2 or more optimizer instances, or use_sharp false.
      = Megatron-LM: data parallel group with CP (with GTP_remat) is not initialized
      = suggestion: Change use_sharp to false: communicators: {use_sharp: [-true-]{+false+}[-, sharp_enabled_group: dp-]}
      = suggestion: Use dp_replica with 2 optimizer instances: parallelism: {tp: 2{+, num_distributed_optimizer_instances: 2+}} | communicators: {use_sharp: true, sharp_enabled_group: [-dp-]{+dp_replica+}}"
  `);
});
