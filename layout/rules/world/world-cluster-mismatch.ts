import type { Field } from '../../format/spec';
import { changeFix } from '../fixes';
import { countOf } from '../numbers';
import { valueRelated } from '../related';
import type { Report, Rule } from '../rule';
import { otherSource } from '../source';

export const worldClusterMismatch: Rule = {
  code: 'world-cluster-mismatch',
  severity: 'error',
  title: 'world_size and cluster disagree',
  effect: 'the launcher waits for ranks that never start',
  what: '`world_size` is above `cluster.nodes * cluster.gpus_per_node`. A smaller one leaves GPUs idle, which is allowed and reported as information.',
  why: 'One rank runs on each GPU: ranks beyond the GPUs never start, and the launcher waits for them.',
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
    if (size === undefined || world.clusterSize === undefined || !cluster) {
      return;
    }
    if (!world.contradicted) {
      yield* idleReport(root.world_size, size, world.clusterSize - world.idle);
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
      related: [valueRelated('nodes', cluster.nodes), valueRelated('gpus_per_node', cluster.gpus_per_node)],
      fixes: [
        changeFix('world_size', root.world_size.span, world.clusterSize),
        ...(size % perNode === 0 ? [changeFix('nodes', cluster.nodes.span, size / perNode)] : []),
        ...(size % nodes === 0 ? [changeFix('gpus_per_node', cluster.gpus_per_node.span, size / nodes)] : []),
      ],
    };
  },
};

/** GPUs without a rank: legal, and worth a word. */
function* idleReport(field: Field<number>, size: number, gpus: number): Iterable<Report> {
  if (size < gpus) {
    yield {
      severity: 'information',
      message: `world_size ${size} leaves ${gpus - size} of ${gpus} GPUs idle.`,
      span: field.span,
    };
  }
}
