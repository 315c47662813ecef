import type { LayoutFacts } from '../../topology/facts';
import { changes } from '../fixes';
import { eachModel } from '../model/describedModels';
import { countOf } from '../numbers';
import { valueRelated } from '../related';
import { job, megatron, type Rule, stopsLater } from '../rule';
import { waysOf } from './cp-comm-type';

export const cpHeads: Rule = {
  code: 'cp-heads',
  severity: 'error',
  title: 'All-to-all context parallelism has too few heads',
  effect: 'Transformer Engine stops in the first attention layer',
  what: '`cp_comm_type` is `a2a` (or `a2a+p2p`), and the attention heads or query groups of a tensor-parallel rank are not a multiple of `cp` (of the first of `hierarchical_context_parallel_sizes`).',
  why: 'All-to-all exchange gives each context-parallel rank whole heads of the whole sequence. Nothing compares the numbers before the first layer runs.',
  failing: job(
    16,
    'tp: 2, cp: 8',
    'model: {num_attention_heads: 32, num_query_groups: 8}',
    'sequence: {cp_comm_type: a2a}',
  ),
  sources: [
    'Transformer Engine, attention/dot_product_attention/context_parallel.py (`AttnFuncWithCPAndQKVOA2A`)',
    megatron('megatron/core/extensions/transformer_engine.py', 'TEDotProductAttention'),
  ],
  check: eachModel(function* ({ module, model, degrees }, facts) {
    const field = module.sequence.value?.cp_comm_type;
    const size = exchangeSize(facts, waysOf(field), degrees.cp);
    const heads = model.num_attention_heads;
    // MindSpeed repeats key-value heads before the exchange (--kv-head-repeat-before-uly-alltoall, on by default)
    const repeats = model.multi_latent_attention.value === true || facts.framework?.name === 'mindspeed';
    const groups = repeats ? heads : model.num_query_groups;
    const short = [
      { name: 'attention heads', all: heads },
      { name: 'query groups', all: groups },
    ].find(({ all }) => all.value !== undefined && ofRank(all.value, degrees.tp) % size !== 0);
    if (field && short?.all.value !== undefined) {
      yield {
        message: `A tensor-parallel rank has ${ofRank(short.all.value, degrees.tp)} ${short.name}, which all-to-all cannot share among ${countOf(size, 'context-parallel rank')}. Use cp_comm_type p2p, or a smaller cp.${stopsLater(facts, 'runs the first attention layer')}`,
        ...changes('cp_comm_type', field, 'p2p'),
        related: [valueRelated(short.name === 'query groups' ? 'num_query_groups' : 'num_attention_heads', short.all)],
        predicts: 'The number of attention heads needs to be divisible by CP size!',
      };
    }
  }),
};

/** How many ranks exchange heads; 1 where none do. */
function exchangeSize({ root }: LayoutFacts, ways: readonly string[], cp: number): number {
  if (ways.includes('a2a')) {
    return cp;
  }
  const [first] = root.parallelism.value?.hierarchical_context_parallel_sizes.value ?? [];
  return ways.includes('a2a+p2p') ? (first?.value ?? 1) : 1;
}

/** The heads that one of `tp` ranks holds: a whole share, or a copy of one. What tp does not divide is of another rule. */
function ofRank(heads: number, tp: number): number {
  return heads % tp === 0 ? heads / tp : tp % heads === 0 ? 1 : 0;
}
