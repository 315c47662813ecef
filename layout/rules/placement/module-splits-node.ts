import { resolveLayout } from '../../topology/resolve';
import { countOf } from '../numbers';
import { megatron, modules, type Rule } from '../rule';

export const moduleSplitsNode: Rule = {
  code: 'module-splits-node',
  severity: 'information',
  title: 'Two modules share a node',
  effect: 'the modules share network cards and memory, and a lost node takes ranks of both',
  what: 'In a job of more than one node, a module begins inside a node.',
  why: 'Modules differ in speed and memory. On a shared node one slows the other down.',
  failing: `${modules(16, 'images: {num_ranks: 4, tp: 2}', 'language: {rank_offset: 4, num_ranks: 12, tp: 2}')}cluster: {nodes: 2, gpus_per_node: 8}\n`,
  passing: `${modules(16, 'images: {num_ranks: 8, tp: 2}', 'language: {rank_offset: 8, num_ranks: 8, tp: 2}')}cluster: {nodes: 2, gpus_per_node: 8}\n`,
  sources: [megatron('examples/mimo/training/topology.py', 'ModuleGridSpec')],
  *check(facts) {
    const layout = facts.heterogeneous && facts.root.cluster.written ? resolveLayout(facts) : null;
    const perNode = facts.root.cluster.value?.gpus_per_node;
    if (!layout || !perNode || layout.nodes === 1 || layout.mode !== 'non_colocated') {
      return;
    }
    const splitting = facts.modules.filter(({ rankOffset }) => (rankOffset ?? 0) % layout.gpusPerNode !== 0);
    const [first] = splitting;
    if (!first?.own) {
      return;
    }
    const start = first.rankOffset ?? 0;
    const rest = splitting.length - 1;
    const others =
      rest > 0 ? ` ${countOf(rest, 'other module')} also ${rest === 1 ? 'begins' : 'begin'} inside a node.` : '';
    yield {
      message: `'${first.name}' begins at rank ${start}, inside node ${Math.floor(start / layout.gpusPerNode)}.${others}`,
      span: first.own.rank_offset.span,
      related: [{ message: `a node has ${countOf(layout.gpusPerNode, 'GPU')}`, span: perNode.span }],
    };
  },
};
