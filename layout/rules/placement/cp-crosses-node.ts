import { job, PARALLEL_STATE, type Rule } from '../rule';
import { nodeCheck } from './crossing';

export const cpCrossesNode: Rule = {
  code: 'cp-crosses-node',
  severity: 'information',
  title: 'Context-parallel groups leave their node',
  effect: 'keys and values cross the network in every layer',
  what: 'A CP group has ranks in more than one node (or NVLink domain, where that is larger).',
  why: 'Attention exchanges keys and values in every layer. Point-to-point exchange hides much of that behind computation, also across nodes. All-to-all does not; `hierarchical_context_parallel_sizes` keeps it within the node.',
  failing: job(16, 'tp: 2, cp: 8', 'cluster: {nodes: 2, gpus_per_node: 8}'),
  passing: job(16, 'tp: 2, cp: 4', 'cluster: {nodes: 2, gpus_per_node: 8}'),
  sources: [PARALLEL_STATE],
  check: nodeCheck('cp', 'Keys and values cross the network.'),
};
