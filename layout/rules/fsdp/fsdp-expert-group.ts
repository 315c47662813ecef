import { valueOr } from '../../topology/facts';
import { removeFix } from '../fixes';
import { writtenRelated } from '../related';
import { job, megatron, type Rule } from '../rule';
import { onlyGrid, requestsOf } from './requests';

export const fsdpExpertGroup: Rule = {
  code: 'fsdp-expert-group',
  severity: 'error',
  title: 'An expert all-gather group without expert parallelism',
  effect: 'Megatron-LM makes no such group and reports nothing',
  what: '`create_expert_all_gather_group` is true while `ep` is 1.',
  why: 'Only expert parallelism has experts to gather. Code that asks for the group gets none.',
  failing: job(16, 'tp: 2', 'fsdp: {enabled: true, create_expert_all_gather_group: true}'),
  passing: job(16, 'tp: 2, ep: 4', 'fsdp: {enabled: true, create_expert_all_gather_group: true}'),
  sources: [megatron('megatron/core/parallel_state.py', 'create_all_gather_groups')],
  *check(facts) {
    const grid = onlyGrid(facts);
    const request = requestsOf(facts).find(({ name }) => name === 'create_expert_all_gather_group');
    if (!request || !grid?.degrees || valueOr(grid.fields.ep, 1) !== 1) {
      return;
    }
    yield {
      message: `Megatron-LM makes no expert all-gather group while ep is 1. Remove ${request.name}, or use ep 2 or more.`,
      span: request.field.span,
      related: writtenRelated('ep', grid.fields.ep),
      fixes: [removeFix(facts.text, request.name, request.field)],
    };
  },
};
