import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpCost } from './ntp-cost';
import { entry, map, ntp } from './testing';

test('ntp-cost', () => {
  const said = reports(ntpCost, {
    'switched off': ntp('tp_spares: 0'),
    'tp 6 of 8': ntp(
      `tp_spares: 2, ${map(entry(0, '6, 7'))}`,
      16,
      'tp: 8',
      'batch: {micro_batch_size: 1, global_batch_size: 32}',
    ),
    'a rest of a sequence is lost': ntp(
      `tp_spares: 2, ${map(entry(0, '6, 7'))}`,
      16,
      'tp: 8',
      'batch: {micro_batch_size: 1, global_batch_size: 10}',
    ),
    'without a batch': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'two replicas': ntp(`tp_spares: 1, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '7'), entry(1, '7'))}`, 32),
  });
  expect(said).toMatchInlineSnapshot(`
    "tp 6 of 8: information at "ntp": 1 of 2 replicas runs with tp 6 in place of 8: 2 of 16 GPUs idle. It takes 12 of its 16 sequences a step, which keeps 87.5 % of compute; dropping the replica would keep 50.0 %.
    a rest of a sequence is lost: information at "ntp": 1 of 2 replicas runs with tp 6 in place of 8: 2 of 16 GPUs idle. It takes 3 of its 5 sequences a step, which keeps 80.0 % of compute; dropping the replica would keep 50.0 %.
    without a batch: information at "ntp": 1 of 2 replicas runs with tp 6 in place of 8: 2 of 16 GPUs idle. About 87.5 % of compute is kept; dropping the replica would keep 50.0 %.
    two replicas: information at "ntp": 2 of 4 replicas run with tp 7 in place of 8: 2 of 32 GPUs idle. About 93.8 % of compute is kept; dropping the replicas would keep 50.0 %."
  `);
});
