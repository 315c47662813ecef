import type { LayoutFacts } from '../../topology/facts';
import { isServed, phaseSpans } from '../../topology/phases';
import { changeFix } from '../fixes';
import { countOf } from '../numbers';
import { valueRelated } from '../related';
import { job, type Report, type Rule } from '../rule';

export const worldClusterMismatch: Rule = {
  code: 'world-cluster-mismatch',
  severity: 'error',
  title: 'world_size and cluster disagree',
  effect: 'the launcher waits for ranks that never start',
  what: '`world_size` is above `cluster.nodes * cluster.gpus_per_node`. A smaller one leaves GPUs idle, as do `phases` that do not take them all; both are allowed and reported as information, once.',
  why: 'Each GPU runs one rank.',
  failing: job(12, 'tp: 2', 'cluster: {nodes: 1, gpus_per_node: 8}'),
  sources: ['torchrun starts `--nnodes` x `--nproc-per-node` processes, one a GPU'],
  *check(facts) {
    const { root, world } = facts;
    const size = root.world_size.value;
    const cluster = root.cluster.value;
    if (!world.contradicted) {
      yield* idleReport(facts);
      return;
    }
    if (size === undefined || world.clusterSize === undefined || !cluster) {
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
        changeFix('world_size', root.world_size, world.clusterSize),
        ...(size % perNode === 0 ? [changeFix('nodes', cluster.nodes, size / perNode)] : []),
        ...(size % nodes === 0 ? [changeFix('gpus_per_node', cluster.gpus_per_node, size / nodes)] : []),
      ],
    };
  },
};

/** GPUs without a rank, or without a phase: legal, and worth a word. */
function* idleReport(facts: LayoutFacts): Iterable<Report> {
  const { root, world } = facts;
  const used = phasedRanks(facts);
  const gpus = Math.max(world.size ?? 0, (world.clusterSize ?? 0) - world.idle);
  if (used !== null && world.size !== undefined && used < world.size) {
    yield {
      severity: 'information',
      message: `The phases use ${used} of ${countOf(gpus, 'GPU')}; the others stand idle.`,
      span: root.phases.keySpan,
    };
  } else if (root.world_size.value !== undefined && root.world_size.value < gpus) {
    yield {
      severity: 'information',
      message: `world_size ${root.world_size.value} leaves ${gpus - root.world_size.value} of ${gpus} GPUs idle.`,
      span: root.world_size.span,
    };
  }
}

/** The ranks that some phase has; null where the training, which has them all, is not among the phases. */
function phasedRanks(facts: LayoutFacts): number | null {
  const spans = [...phaseSpans(facts)].filter(({ isApart }) => !isApart).sort((a, b) => a.start - b.start);
  const isWhole = spans.length > 0 && spans.length === facts.root.phases.value?.length;
  if (!isWhole || spans.every(({ phase }) => isServed(phase))) {
    return null;
  }
  let [covered, reach] = [0, 0];
  for (const { start, end } of spans) {
    covered += Math.max(0, end - Math.max(start, reach));
    reach = Math.max(reach, end);
  }
  return covered;
}
