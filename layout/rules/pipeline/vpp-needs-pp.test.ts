import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { vppNeedsPp } from './vpp-needs-pp';

test('vpp-needs-pp', () => {
  const said = reports(vppNeedsPp, {
    'vpp in a pipeline': job(8, 'pp: 2, vpp: 2'),
    'pp is 1': job(8, 'pp: 1, vpp: 2'),
    'pp is not written': job(8, 'tp: 2, vpp: 2'),
    'the training script has words of its own': scriptJob(8, 'vpp: 2'),
    'no pipeline and no overlapped transfers': scriptJob(8, 'vpp: 2, overlap_p2p_comm: false'),
    'two interleaved stages without overlapped transfers': scriptJob(8, 'pp: 2, vpp: 2, overlap_p2p_comm: false'),
    'three interleaved stages need no overlap': scriptJob(6, 'pp: 3, vpp: 2, overlap_p2p_comm: false', {
      model: 'num_layers: 12',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "pp is 1: error at "2": vpp 2 needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.
      = Megatron-LM: pipeline-model-parallel size should be greater than 1 with interleaved schedule
      = at "1": pp is 1 here
      = suggestion: Remove vpp: parallelism: {pp: 1[-, vpp: 2-]}
      = suggestion: Change pp to 2: parallelism: {pp: [-1-]{+2+}, vpp: 2}
    pp is not written: error at "2": vpp 2 needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.
      = Megatron-LM: pipeline-model-parallel size should be greater than 1 with interleaved schedule
      = suggestion: Remove vpp: parallelism: {tp: 2[-, vpp: 2-]}
      = suggestion: Insert pp: 2: parallelism: {tp: 2, vpp: 2{+, pp: 2+}}
    the training script has words of its own: error at "2": vpp 2 needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.
      = Megatron-LM: When interleaved schedule is used, pipeline-model-parallel size should be greater than 1
      = suggestion: Remove vpp: parallelism: {[-vpp: 2-]}
      = suggestion: Insert pp: 2: parallelism: {vpp: 2{+, pp: 2+}}
    no pipeline and no overlapped transfers: error at "2": vpp 2 needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.
      = Megatron-LM: When interleaved schedule is used and p2p communication overlap is disabled, pipeline-model-parallel size should be greater than 2 to avoid having multiple p2p sends and recvs between same 2 ranks per communication batch
      = suggestion: Remove vpp: parallelism: {[-vpp: 2, -]overlap_p2p_comm: false}
    two interleaved stages without overlapped transfers: error at "false": An interleaved pipeline of 2 stages needs overlap_p2p_comm. Leave overlap_p2p_comm out, or use pp 3 or more.
      = Megatron-LM: When interleaved schedule is used and p2p communication overlap is disabled, pipeline-model-parallel size should be greater than 2 to avoid having multiple p2p sends and recvs between same 2 ranks per communication batch
      = at "2": pp is 2 here
      = suggestion: Change overlap_p2p_comm to true: parallelism: {pp: 2, vpp: 2, overlap_p2p_comm: [-false-]{+true+}}"
  `);
});
