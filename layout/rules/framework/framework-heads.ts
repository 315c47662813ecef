import { changeFix } from '../fixes';
import { divisors, eitherNumber } from '../numbers';
import { valueRelated } from '../related';
import { inFramework, job, type Rule } from '../rule';

export const frameworkHeads: Rule = {
  code: 'framework-heads',
  severity: 'error',
  title: 'tp does not divide the attention heads or the key-value heads',
  effect: 'the framework stops on every rank',
  what: '`tp` does not divide `num_attention_heads`, or `num_query_groups` (the key-value heads) of a framework that does not copy them: torchtitan, nanotron, and transformers under accelerate.',
  why: 'Each tensor-parallel rank holds whole heads. Megatron Core copies a key-value head to several ranks where there are fewer heads than ranks; these frameworks cut its projection as any other, and half a head cannot be reshaped. For torchtitan it is a warning where the layout names a flavor (`model: {from: ...}`), as its configuration functions may change the heads of the flavor that they start from.',
  failing: job(16, 'tp: 16', 'launch: {family: nanotron}', 'model: {num_attention_heads: 32, num_query_groups: 8}'),
  sources: [
    inFramework('pytorch/torchtitan', 'torchtitan/models/common/decoder.py', 'Decoder.Config.update_from_config'),
    inFramework('huggingface/nanotron', 'src/nanotron/config/config.py', 'Config.__post_init__'),
    inFramework('huggingface/nanotron', 'src/nanotron/models/llama.py', 'CausalSelfAttention'),
  ],
  *check({ framework, modules }) {
    const shares = framework?.heads;
    const [module] = modules;
    const model = module?.model.value;
    const tp = module?.degrees?.tp ?? 1;
    if (!shares || !model || tp === 1) {
      return;
    }
    const heads = model.num_attention_heads;
    const groups = model.num_query_groups;
    const undivided = [
      { name: 'num_attention_heads', what: 'attention heads', field: heads, words: shares.heads },
      { name: 'num_query_groups', what: 'key-value heads', field: groups, words: shares.keyValueHeads },
    ].find(({ field, words }) => words !== null && field.value !== undefined && field.value % tp !== 0);
    const count = undivided?.field.value;
    if (!undivided || count === undefined) {
      return;
    }
    const fits = (size: number) => [heads, groups].every(({ value }) => value === undefined || value % size === 0);
    const better = divisors(count).filter(fits).slice(-3);
    yield {
      severity: shares.areNominal && model.from.written ? 'warning' : 'error',
      message: `tp ${tp} does not divide ${count} ${undivided.what}${count < tp ? `, which ${framework.title} does not copy to several ranks` : ''}. Use tp ${eitherNumber(better)}.`,
      span: module?.fields.tp.span ?? undivided.field.span,
      related: [valueRelated(undivided.name, undivided.field)],
      predicts: undivided.words?.(count, tp) ?? null,
      fixes: better.toReversed().map((size) => changeFix('tp', module?.fields.tp, size)),
    };
  },
};
