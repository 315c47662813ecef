import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { sharpGroup } from './sharp-group';

const sharp = (options: string) => `communicators: {${options}}`;
const TWO = 'num_distributed_optimizer_instances: 2';

test('sharp-group', () => {
  const said = reports(sharpGroup, {
    'SHARP off': job(16, 'tp: 2', sharp('use_sharp: false')),
    'SHARP across instances': job(16, `tp: 2, ${TWO}`, sharp('use_sharp: true, sharp_enabled_group: dp_replica')),
    'dp_replica with one instance': job(16, 'tp: 2', sharp('use_sharp: true, sharp_enabled_group: dp_replica')),
    'a group while use_sharp is not written': job(16, 'tp: 2', sharp('sharp_enabled_group: dp')),
    'dp_replica while use_sharp is false': job(
      16,
      `tp: 2, ${TWO}`,
      sharp('use_sharp: false, sharp_enabled_group: dp_replica'),
    ),
    'names differ by case': job(16, 'tp: 2', sharp('use_sharp: true, sharp_enabled_group: DP')),
    'an empty name': job(16, `tp: 2, ${TWO}`, sharp('use_sharp: true, sharp_enabled_group: ""')),
  });
  expect(said).toMatchInlineSnapshot(`
    "dp_replica with one instance: error at "dp_replica": dp_replica needs 2 or more optimizer instances, and there is 1. Use num_distributed_optimizer_instances 2, or use_sharp false.
      = Megatron-LM: dp_replica group requires num_distributed_optimizer_instances > 1
      = suggestion: Change use_sharp to false: communicators: {use_sharp: [-true-]{+false+}[-, sharp_enabled_group: dp_replica-]}
      = suggestion: Use dp_replica with 2 optimizer instances: parallelism: {tp: 2{+, num_distributed_optimizer_instances: 2+}} | communicators: {use_sharp: true, sharp_enabled_group: [-dp_replica-]{+dp_replica+}}
    a group while use_sharp is not written: error at "dp": sharp_enabled_group needs use_sharp true. Remove sharp_enabled_group, or use use_sharp true.
      = Megatron-LM: sharp_enabled_group is only valid when use_sharp is True
      = suggestion: Remove sharp_enabled_group: communicators: {[-sharp_enabled_group: dp-]}
    dp_replica while use_sharp is false: error at "dp_replica": sharp_enabled_group needs use_sharp true. Remove sharp_enabled_group, or use use_sharp true.
      = Megatron-LM: sharp_enabled_group is only valid when use_sharp is True
      = at "false": use_sharp is false here
      = suggestion: Remove sharp_enabled_group: communicators: {use_sharp: false[-, sharp_enabled_group: dp_replica-]}
      = suggestion: Use use_sharp true: communicators: {use_sharp: [-false-]{+true+}, sharp_enabled_group: dp_replica}
    names differ by case: error at "DP": The group 'DP' cannot use SHARP. Use dp_replica with 2 or more optimizer instances, or use_sharp false.
      = Megatron-LM: Invalid sharp_enabled_group
      = suggestion: Change use_sharp to false: communicators: {use_sharp: [-true-]{+false+}[-, sharp_enabled_group: DP-]}
      = suggestion: Use dp_replica with 2 optimizer instances: parallelism: {tp: 2{+, num_distributed_optimizer_instances: 2+}} | communicators: {use_sharp: true, sharp_enabled_group: [-DP-]{+dp_replica+}}
    an empty name: error at "\\"\\"": A group without a name cannot use SHARP. Use dp_replica with 2 or more optimizer instances, or use_sharp false.
      = Megatron-LM: Invalid sharp_enabled_group
      = suggestion: Change use_sharp to false: communicators: {use_sharp: [-true-]{+false+}[-, sharp_enabled_group: ""-]}
      = suggestion: Use dp_replica with 2 optimizer instances: parallelism: {tp: 2, num_distributed_optimizer_instances: [-2-]{+2+}} | communicators: {use_sharp: true, sharp_enabled_group: [-""-]{+dp_replica+}}"
  `);
});
