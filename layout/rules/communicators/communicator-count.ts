import { countCommunicators } from '../../topology/communicators';
import { resolveLayout } from '../../topology/resolve';
import { allGatherGroups } from '../fsdp/all-gather-groups';
import { fsdpExpertGroup } from '../fsdp/fsdp-expert-group';
import { fsdpGroupIdle } from '../fsdp/fsdp-group-idle';
import { onlyGrid } from '../fsdp/requests';
import { hasNoExperts } from '../model/experts';
import { both, countOf } from '../numbers';
import { job, megatron, type Rule } from '../rule';

export const communicatorCount: Rule = {
  code: 'communicator-count',
  severity: 'information',
  title: 'Communicators of a job with separate all-gather groups',
  effect: 'each extra communicator takes GPU memory and start-up time',
  what: 'The layout makes separate all-gather groups. The diagnostic counts the communicators of a rank: the process groups of 2 ranks or more that it is in, each name by itself even where another has the same ranks. Groups of experts count unless the model is described and has none.',
  why: 'Every NCCL communicator has its own channels and buffers in GPU memory. Two communicators over the same ranks let all-gather and reduce-scatter run at the same time.',
  failing: job(16, 'tp: 2', 'fsdp: {enabled: true, create_all_gather_group: true}'),
  passing: job(16, 'tp: 2', 'fsdp: {enabled: true}'),
  sources: [megatron('megatron/core/parallel_state.py', 'initialize_model_parallel', 'create_all_gather_groups')],
  *check(facts) {
    const { root } = facts;
    const layout = onlyGrid(facts) && facts.root.fsdp.value?.enabled.value === true ? resolveLayout(facts) : null;
    // where the groups are useless or cannot be made, that is the diagnostic
    const isFaulty = [fsdpExpertGroup, fsdpGroupIdle, allGatherGroups].some(
      ({ check }) => [...(check?.(facts) ?? [])].length > 0,
    );
    if (!layout || isFaulty) {
      return;
    }
    const hasExperts = !facts.modules.every(({ model }) => model.value && hasNoExperts(model.value));
    const { each, atEnds, allGather } = countCommunicators(layout, hasExperts);
    if (allGather.length === 0) {
      return;
    }
    const ends = atEnds > 0 ? `, ${each + atEnds} at the two ends of the pipeline` : '';
    const names = both(allGather);
    yield {
      message: `Each rank holds ${countOf(each, 'communicator')}${ends}. ${names} only ${allGather.length === 1 ? 'serves' : 'serve'} to overlap all-gather with reduce-scatter.`,
      span: root.parallelism.keySpan,
      related: [{ message: 'fsdp asks for all-gather groups here', span: root.fsdp.keySpan }],
    };
  },
};
