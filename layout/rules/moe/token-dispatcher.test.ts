import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { tokenDispatcher } from './token-dispatcher';

test('token-dispatcher', () => {
  const said = reports(tokenDispatcher, {
    'DeepEP in the flex dispatcher': job(8, 'ep: 8', 'moe: {moe_token_dispatcher_type: flex, moe_enable_deepep: true}'),
    'sequences that differ in length': job(
      8,
      'ep: 8',
      'sequence: {variable_seq_lengths: true}',
      'moe: {moe_token_dispatcher_type: allgather}',
    ),
    'a file that leaves the dispatcher open': job(8, 'ep: 8', 'moe: {moe_enable_deepep: true}'),
    'no communication with the alltoall dispatcher': job(
      8,
      'ep: 8',
      'moe: {moe_token_dispatcher_type: alltoall}',
      'communicators: {fake_process_group: true}',
    ),
    'DeepEP in another dispatcher': job(
      8,
      'ep: 8',
      'moe: {moe_token_dispatcher_type: alltoall, moe_enable_deepep: true}',
    ),
    'DeepEP where the training script takes its own dispatcher': scriptJob(8, 'tp: 1', {
      moe: 'moe_enable_deepep: true',
    }),
    'the flex dispatcher without communication': job(
      8,
      'ep: 8',
      'moe: {moe_token_dispatcher_type: flex}',
      'communicators: {fake_process_group: true}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "sequences that differ in length: error at "true": variable_seq_lengths excludes moe_token_dispatcher_type allgather. Use alltoall.
      = Megatron-LM: Token dispatcher type: allgather does not support variable sequence length, please use alltoall dispatcher instead.
      = suggestion: Change moe_token_dispatcher_type to alltoall: moe: {moe_token_dispatcher_type: [-allgather-]{+alltoall+}}
      = suggestion: Remove variable_seq_lengths: sequence: {[-variable_seq_lengths: true-]}
    DeepEP in another dispatcher: error at "true": moe_enable_deepep needs moe_token_dispatcher_type flex; it is alltoall. Use flex.
      = Megatron-LM: DeepEP backend is only supported with flex token dispatcher.
      = suggestion: Change moe_token_dispatcher_type to flex: moe: {moe_token_dispatcher_type: [-alltoall-]{+flex+}, moe_enable_deepep: true}
      = suggestion: Remove moe_enable_deepep: moe: {moe_token_dispatcher_type: alltoall[-, moe_enable_deepep: true-]}
    DeepEP where the training script takes its own dispatcher: error at "true": moe_enable_deepep needs moe_token_dispatcher_type flex; it defaults to allgather. Use flex.
      = Megatron-LM: DeepEP backend is only supported with flex token dispatcher.
      = suggestion: Insert moe_token_dispatcher_type: flex: moe: {moe_enable_deepep: true{+, moe_token_dispatcher_type: flex+}}
      = suggestion: Remove moe_enable_deepep: moe: {[-moe_enable_deepep: true-]}
    the flex dispatcher without communication: error at "true": fake_process_group excludes moe_token_dispatcher_type flex. Use alltoall.
      = Megatron-LM: Fake process group is not supported with flex token dispatcher.
      = suggestion: Change moe_token_dispatcher_type to alltoall: moe: {moe_token_dispatcher_type: [-flex-]{+alltoall+}}
      = suggestion: Remove fake_process_group: communicators: {[-fake_process_group: true-]}"
  `);
});
