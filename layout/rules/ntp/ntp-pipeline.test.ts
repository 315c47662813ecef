import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpPipeline } from './ntp-pipeline';
import { entry, map, ntp } from './testing';

test('ntp-pipeline', () => {
  const said = reports(ntpPipeline, {
    'one stage': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'a pipeline, once, whatever else is wrong': ntp('tp_spares: 2, num_reduced_tp_dp_ranks: 9', 32, 'tp: 8, pp: 2'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a pipeline, once, whatever else is wrong: error at "2": With pp 2 only the first stage of a reduced replica gets new groups; later stages wait for ranks that have left. Use pp 1.
      = Megatron-LM: Rank 32 is out of range. Valid ranks are 0 to 31 (world_size=32)
      = at "ntp": ntp is written here"
  `);
});
