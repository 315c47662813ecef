import { nearest } from '../../format/nearest';
import { GROUP_NAMES } from '../../topology/groupKinds';
import { processGroups } from '../../topology/processGroups';
import { resolveLayout } from '../../topology/resolve';
import { replaceFix } from '../fixes';
import { both } from '../numbers';
import { job, megatron, type Rule } from '../rule';

export const unknownGroup: Rule = {
  code: 'unknown-group',
  severity: 'error',
  title: 'No process group has this name',
  effect: 'Megatron-LM ignores the name, and the intended communicator keeps a stream of normal priority',
  what: '`high_priority_stream_groups` names a process group that does not exist. It is a warning where the group exists in other layouts, but not in this one.',
  why: 'Megatron-LM accepts any name and never reports one that it does not know.',
  failing: job(16, 'tp: 2', 'communicators: {high_priority_stream_groups: [dpcp]}'),
  sources: [megatron('megatron/core/parallel_state.py', 'overwrite_nccl_comm_cfgs', 'get_nccl_options')],
  *check(facts) {
    const groups = facts.root.communicators.value?.high_priority_stream_groups.value ?? [];
    const resolved = groups.length > 0 ? resolveLayout(facts) : null;
    const made = new Set(resolved ? processGroups(resolved).map((family) => family.name) : GROUP_NAMES);
    for (const { value: name, span } of groups) {
      if (name === undefined || made.has(name)) {
        continue;
      }
      const isKnown = GROUP_NAMES.includes(name);
      const near = isKnown ? null : nearest(name, GROUP_NAMES);
      const advice = near ? `Did you mean ${near}?` : `They are ${both(GROUP_NAMES)}.`;
      yield isKnown
        ? { severity: 'warning', message: `This layout makes no group '${name}'. Remove it from the list.`, span }
        : {
            message: `No process group is called '${name}'. ${advice}`,
            span,
            fixes: [near ? replaceFix(span, near) : null],
          };
    }
  },
};
