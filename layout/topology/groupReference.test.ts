import { expect, test } from 'vitest';
import { check } from '../check';
import { groupKindNames, groupMarkdown } from './groupReference';
import { processGroups } from './processGroups';

test('every process group that a layout makes stands in the catalogue', () => {
  const { resolved } = check(`layout: 1
world_size: 64
parallelism: {tp: 2, cp: 4, pp: 2, ep: 2, num_distributed_optimizer_instances: 2, hierarchical_context_parallel_sizes: [2, 2]}
fsdp: {enabled: true, create_all_gather_group: true}
`);
  const made = resolved ? processGroups(resolved).map(({ name }) => name) : [];
  expect(made).toEqual(expect.arrayContaining(['hcp', 'intra_dp_cp', 'inter_ep_dp', 'dp_cp_ag', 'expt_dp_ag']));
  expect(made.filter((name) => !groupKindNames().includes(name))).toEqual([]);
});

test('a group of other frameworks is explained by what it spans in each', () => {
  expect(groupMarkdown('efsdp')).toBe(
    '# Process group efsdp\n\n- torchtitan: spans efsdp; carries shards of the parameters and gradients of experts\n- Primus: spans efsdp; carries shards of the parameters and gradients of experts\n',
  );
  expect(groupMarkdown('nothing')).toBeNull();
});
