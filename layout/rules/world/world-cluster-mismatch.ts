import { changeFix } from '../fixes';
import { countOf } from '../numbers';
import type { Rule } from '../rule';
import { otherSource } from '../source';

export const worldClusterMismatch: Rule = {
  code: 'world-cluster-mismatch',
  severity: 'error',
  title: 'world_size and cluster disagree',
  effect: 'the launcher waits for ranks that never start',
  what: '`world_size` is not `cluster.nodes * cluster.gpus_per_node`. With packed nonuniform TP the GPUs of the spares may stand idle beside it.',
  why: 'One rank runs on each GPU: too many ranks never start, too few leave GPUs idle, and the launcher waits for both.',
  failing: `layout: 1
world_size: 12
cluster: {nodes: 1, gpus_per_node: 8}
parallelism: {tp: 2}
`,
  passing: `layout: 1
world_size: 8
cluster: {nodes: 1, gpus_per_node: 8}
parallelism: {tp: 2}
`,
  sources: [otherSource('torchrun starts `--nnodes` x `--nproc-per-node` processes, one a GPU')],
  *check({ root, world }) {
    const size = root.world_size.value;
    const cluster = root.cluster.value;
    if (size === undefined || world.clusterSize === undefined || !world.contradicted || !cluster) {
      return;
    }
    const nodes = cluster.nodes.value ?? 1;
    const perNode = cluster.gpus_per_node.value ?? 1;
    const gpus =
      nodes === 1
        ? `a node has ${countOf(perNode, 'GPU')}`
        : `${nodes} nodes x ${countOf(perNode, 'GPU')} = ${world.clusterSize}`;
    yield {
      message: `world_size is ${size}, but ${gpus}. Use world_size ${world.clusterSize}${
        size % perNode === 0 ? `, or ${countOf(size / perNode, 'node')}` : ''
      }.`,
      span: root.world_size.span,
      related: [
        { message: `nodes is ${nodes} here`, span: cluster.nodes.span },
        { message: `gpus_per_node is ${perNode} here`, span: cluster.gpus_per_node.span },
      ],
      fixes: [
        changeFix('world_size', root.world_size.span, world.clusterSize),
        ...(size % perNode === 0 ? [changeFix('nodes', cluster.nodes.span, size / perNode)] : []),
        ...(size % nodes === 0 ? [changeFix('gpus_per_node', cluster.gpus_per_node.span, size / nodes)] : []),
      ],
    };
  },
};
