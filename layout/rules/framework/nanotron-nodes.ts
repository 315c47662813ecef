import { suggestion, worldSizeEdits } from '../fixes';
import { countOf, eitherNumber, nearestMultiples } from '../numbers';
import { inFramework, type Rule } from '../rule';

/** What nanotron takes for the ranks of a node where `LOCAL_WORLD_SIZE` is not set; a smaller world is one node. */
const DEFAULT_LOCAL = 8;

export const nanotronNodes: Rule = {
  code: 'nanotron-nodes',
  severity: 'error',
  title: 'nanotron cannot cut the world into nodes',
  effect: 'nanotron stops on every rank',
  what: 'A nanotron job of up to 8 ranks stands on several nodes; or one of more ranks is not a multiple of the ranks of a node (`LOCAL_WORLD_SIZE`, which nanotron takes to be 8 where the launcher does not set it; so do we for nodes of one GPU).',
  why: 'nanotron makes a group of each node by cutting the list of ranks into equal runs. It takes a world of up to 8 ranks for one node whatever the launcher says, and then compares the rank in that group with `LOCAL_RANK`.',
  failing:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 4}\nlaunch: {family: nanotron}\nparallelism: {tp: 4, dp: 2}\n',
  passing:
    'layout: 1\ncluster: {nodes: 1, gpus_per_node: 8}\nlaunch: {family: nanotron}\nparallelism: {tp: 4, dp: 2}\n',
  sources: [inFramework('huggingface/nanotron', 'src/nanotron/parallel/context.py', 'ParallelContext.__init__')],
  *check(facts) {
    const { world, root } = facts;
    const cluster = root.cluster.value;
    const [nodes, perNode] = [cluster?.nodes.value, cluster?.gpus_per_node.value];
    if (world.size === undefined || !cluster || nodes === undefined || perNode === undefined) {
      return;
    }
    const local = perNode === 1 ? DEFAULT_LOCAL : perNode;
    if (world.size <= DEFAULT_LOCAL && world.size > perNode) {
      yield {
        message: `nanotron takes ${countOf(world.size, 'rank')} for one node, but the cluster has ${nodes} nodes of ${perNode}. Use 1 node of ${world.size} GPUs, or more than ${DEFAULT_LOCAL} ranks.`,
        span: cluster.nodes.span,
        predicts: 'Local rank mismatch',
      };
    } else if (world.size > DEFAULT_LOCAL && world.size % local !== 0) {
      const better = nearestMultiples(local, world.size);
      yield {
        message: `nanotron cuts ${countOf(world.size, 'rank')} into nodes of ${local} (LOCAL_WORLD_SIZE), which leaves a part. Use world_size ${eitherNumber(better)}.`,
        span: world.span,
        predicts: `cannot reshape array of size ${world.size} into shape (${local})`,
        fixes: better.map((size) => suggestion(`Change world_size to ${size}`, worldSizeEdits(facts, size) ?? [null])),
      };
    }
  },
};
