import { removeFix } from '../fixes';
import { job, megatron, type Rule } from '../rule';
import { onlyGrid, requestsOf } from './requests';

export const fsdpGroupIdle: Rule = {
  code: 'fsdp-group-idle',
  severity: 'warning',
  title: 'An all-gather group that has nothing to gather',
  effect: 'the group takes memory and start-up time and is never used',
  what: '`create_all_gather_group` is true, but `dp * cp` is 1 or the sharding strategy is `no_shard`.',
  why: 'With one replica, or with whole parameters on every rank, there is nothing to gather.',
  failing: job(8, 'tp: 8', 'fsdp: {enabled: true, create_all_gather_group: true}'),
  passing: job(8, 'tp: 4', 'fsdp: {enabled: true, create_all_gather_group: true}'),
  sources: [megatron('megatron/core/parallel_state.py', 'create_all_gather_groups')],
  *check(facts) {
    const grid = onlyGrid(facts);
    const [request] = requestsOf(facts);
    const strategy = facts.root.fsdp.value?.data_parallel_sharding_strategy;
    // while FSDP is off, that is the diagnostic
    if (!request || facts.root.fsdp.value?.enabled.value !== true || grid?.dp === undefined || !grid.degrees) {
      return;
    }
    const isUnsharded = strategy?.value === 'no_shard';
    const isAlone = request.name === 'create_all_gather_group' && grid.dp * grid.degrees.cp === 1;
    if (isUnsharded || isAlone) {
      const reason = isAlone ? 'With dp x cp 1' : 'With no_shard every rank has whole parameters:';
      yield {
        message: `${reason} there is nothing to gather. Remove ${request.name}.`,
        span: request.field.span,
        related:
          isUnsharded && strategy
            ? [{ message: 'data_parallel_sharding_strategy is no_shard here', span: strategy.span }]
            : [],
        fixes: [removeFix(facts.text, request.name, request.field)],
      };
    }
  },
};
