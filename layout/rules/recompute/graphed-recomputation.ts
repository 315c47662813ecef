import { valuesOf } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { takenOf, takenText } from '../../topology/taken';
import { byDefault, type Condition, conditionsOn, firstBroken } from '../conditions';
import { changeFix } from '../fixes';
import { job, type Rule, TRANSFORMER_CONFIG } from '../rule';

export const graphedRecomputation: Rule = {
  code: 'graphed-recomputation',
  severity: 'error',
  title: 'CUDA graphs cannot hold this recomputation',
  what: 'CUDA graphs of layers are on with full recomputation; or selective recomputation recomputes a part with dropout that a graph captures: `core_attn` with `attention_dropout`, `mlp` or `moe` with `hidden_dropout` (both 0.1 by default in Megatron-LM, which is information in a file that does not write them).',
  why: 'A graph replays the same kernels each time, and a recomputed part with dropout must draw the same random numbers twice.',
  failing: job(
    8,
    'tp: 1',
    'model: {attention_dropout: 0.1}',
    'recompute: {granularity: selective}',
    'cuda_graph: {cuda_graph_impl: local}',
  ),
  sources: [TRANSFORMER_CONFIG],
  check: (facts) => firstBroken(facts.text, conditions(facts)),
};

function conditions(facts: LayoutFacts): Condition[] {
  const { root } = facts;
  const recompute = root.recompute.value;
  const graphs = root.cuda_graph.value;
  const impl = implementation(facts);
  if (!recompute || !graphs || impl === 'none' || recompute.granularity.value === undefined) {
    return [];
  }
  const { granularity, modules: recomputed } = recompute;
  const condition = conditionsOn('granularity', granularity);
  if (granularity.value === 'full') {
    return [
      condition(
        impl === 'full_iteration',
        'Full recomputation needs graphs of whole iterations. Use cuda_graph_impl full_iteration, or granularity selective.',
        'full recompute is only supported with full iteration CUDA graph.',
        changeFix('granularity', granularity, 'selective'),
      ),
    ];
  }
  const parts = recomputed.written ? valuesOf(recomputed.value) : ['core_attn'];
  const captured = valuesOf(graphs.cuda_graph_modules.value);
  const isCaptured = (part: string) => impl === 'full_iteration' || captured.length === 0 || captured.includes(part);
  const attention = takenOf(facts, 'model', 'attention_dropout');
  const hidden = takenOf(facts, 'model', 'hidden_dropout');
  const inner = ['mlp', 'moe'].find((part) => parts.includes(part) && isCaptured(part));
  const { attention_dropout, hidden_dropout } = root.model.value ?? {};
  return [
    condition(
      byDefault(attention, !attention.value || !parts.includes('core_attn') || !isCaptured('attn')),
      `A CUDA graph holds the attention that is recomputed, with ${takenText(attention)} as its dropout. Use attention_dropout 0.`,
      'attention dropout is not supported with graphed attention recomputation.',
      changeFix('attention_dropout', attention_dropout, 0),
    ),
    condition(
      byDefault(hidden, !hidden.value || inner === undefined),
      `A CUDA graph holds the ${inner} that is recomputed, with ${takenText(hidden)} as its dropout. Use hidden_dropout 0.`,
      'hidden dropout is not supported with graphed MLP/MoE recomputation.',
      changeFix('hidden_dropout', hidden_dropout, 0),
    ),
  ];
}

/** What captures the graphs, by today's key or a former one. */
function implementation({ root }: LayoutFacts): string {
  const graphs = root.cuda_graph.value;
  return graphs?.enable_cuda_graph.value === true
    ? 'local'
    : graphs?.external_cuda_graph.value === true
      ? 'transformer_engine'
      : (graphs?.cuda_graph_impl.value ?? 'none');
}
