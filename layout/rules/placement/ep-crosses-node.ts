import { job, PARALLEL_STATE, type Rule } from '../rule';
import { nodeCheck } from './crossing';

export const epCrossesNode: Rule = {
  code: 'ep-crosses-node',
  severity: 'information',
  title: 'Expert-parallel groups leave their node',
  effect: 'tokens cross the network in every MoE layer',
  what: 'An EP group has ranks in more than one node (or NVLink domain, where that is larger).',
  why: 'Every MoE layer sends tokens to their experts and back with all-to-all. Across nodes it needs a dispatcher that is made for the network, and enough bandwidth.',
  failing: job(16, 'ep: 16', 'cluster: {nodes: 2, gpus_per_node: 8}'),
  passing: job(16, 'ep: 8', 'cluster: {nodes: 2, gpus_per_node: 8}'),
  sources: [PARALLEL_STATE],
  check: nodeCheck('ep', 'The all-to-all crosses the network.'),
};
