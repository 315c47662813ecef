import { expect, test } from 'vitest';
import { job, report, scriptJob } from '../testing';
import { vppNeedsPp } from './vpp-needs-pp';

const said = (text: string) => report(vppNeedsPp, text);

test('vpp in a pipeline', () => {
  expect(said(job(8, 'pp: 2, vpp: 2'))).toBe('');
});

test('pp is 1', () => {
  expect(said(job(8, 'pp: 1, vpp: 2'))).toMatchInlineSnapshot(`
    "error[vpp-needs-pp] at "2"
    vpp 2 needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.
    = Megatron-LM: pipeline-model-parallel size should be greater than 1 with interleaved schedule
    = at "1": pp is 1 here
    = suggestion: Remove \`vpp\`
      - parallelism: {pp: 1, vpp: 2}
      + parallelism: {pp: 1}
    = suggestion: Change pp to 2
      - parallelism: {pp: 1, vpp: 2}
      + parallelism: {pp: 2, vpp: 2}"
  `);
});

test('pp is not written', () => {
  expect(said(job(8, 'tp: 2, vpp: 2'))).toMatchInlineSnapshot(`
    "error[vpp-needs-pp] at "2"
    vpp 2 needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.
    = Megatron-LM: pipeline-model-parallel size should be greater than 1 with interleaved schedule
    = suggestion: Remove \`vpp\`
      - parallelism: {tp: 2, vpp: 2}
      + parallelism: {tp: 2}
    = suggestion: Insert \`pp: 2\`
      - parallelism: {tp: 2, vpp: 2}
      + parallelism: {tp: 2, vpp: 2, pp: 2}"
  `);
});

test('the training script has words of its own', () => {
  expect(said(scriptJob(8, 'vpp: 2'))).toMatchInlineSnapshot(`
    "error[vpp-needs-pp] at "2"
    vpp 2 needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.
    = Megatron-LM: When interleaved schedule is used, pipeline-model-parallel size should be greater than 1
    = suggestion: Remove \`vpp\`
      - parallelism: {vpp: 2}
      + parallelism: {}
    = suggestion: Insert \`pp: 2\`
      - parallelism: {vpp: 2}
      + parallelism: {vpp: 2, pp: 2}"
  `);
});

test('two interleaved stages without overlapped transfers', () => {
  expect(said(scriptJob(8, 'pp: 2, vpp: 2, overlap_p2p_comm: false'))).toMatchInlineSnapshot(`
    "error[vpp-needs-pp] at "false"
    An interleaved pipeline of 2 stages needs overlap_p2p_comm. Leave overlap_p2p_comm out, or use pp 3 or more.
    = Megatron-LM: When interleaved schedule is used and p2p communication overlap is disabled, pipeline-model-parallel size should be greater than 2 to avoid having multiple p2p sends and recvs between same 2 ranks per communication batch
    = at "2": pp is 2 here
    = suggestion: Change overlap_p2p_comm to true
      - parallelism: {pp: 2, vpp: 2, overlap_p2p_comm: false}
      + parallelism: {pp: 2, vpp: 2, overlap_p2p_comm: true}"
  `);
});

test('three interleaved stages need no overlap', () => {
  expect(said(scriptJob(6, 'pp: 3, vpp: 2, overlap_p2p_comm: false', { model: 'num_layers: 12' }))).toBe('');
});
