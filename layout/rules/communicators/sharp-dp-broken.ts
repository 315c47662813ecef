import { versionOf } from '../../topology/versions';
import { job, megatron, type Rule } from '../rule';
import { replicaGroupFix, sharpOf, sharpOffFix } from './sharp';

export const sharpDpBroken: Rule = {
  code: 'sharp-dp-broken',
  severity: 'error',
  title: 'SHARP for the data-parallel group does not start',
  what: '`use_sharp` is on for the group `dp`, which is also the default of `sharp_enabled_group`.',
  why: 'Megatron-LM runs a barrier in the data-parallel group before it stores the group where the barrier looks for it. `dp_replica` works.',
  failing: job(16, 'tp: 2', 'communicators: {use_sharp: true}'),
  passing: job(
    16,
    'tp: 2, num_distributed_optimizer_instances: 2',
    'communicators: {use_sharp: true, sharp_enabled_group: dp_replica}',
  ),
  sources: [megatron('megatron/core/parallel_state.py', 'initialize_model_parallel', 'get_data_parallel_group')],
  *check(facts) {
    const sharp = sharpOf(facts);
    const version = versionOf(facts);
    // dev and the releases before generalized TP start it
    if (version === 'dev' || version === 'core_r0.18' || !sharp?.useSharp || (sharp.group.value ?? 'dp') !== 'dp') {
      return;
    }
    const { group, options } = sharp;
    const problem = group.written
      ? 'SHARP does not start for the group dp.'
      : 'sharp_enabled_group defaults to dp, for which SHARP does not start.';
    yield {
      message: `${problem} Use dp_replica with 2 or more optimizer instances, or use_sharp false.`,
      span: group.written ? group.span : options.use_sharp.span,
      predicts: 'data parallel group with CP (with GTP_remat) is not initialized',
      fixes: [sharpOffFix(facts), replicaGroupFix(facts, group)],
    };
  },
};
