import { isBefore, versionOf } from '../../topology/versions';
import { changes } from '../fixes';
import { divisors, eitherNumber, nearestMultiples } from '../numbers';
import { writtenRelated } from '../related';
import { job, type Rule, TRANSFORMER_CONFIG } from '../rule';
import { eachModel } from './describedModels';

export const queryGroups: Rule = {
  code: 'query-groups',
  severity: 'error',
  title: 'tp and the query groups do not divide each other',
  what: '`num_query_groups` is neither a multiple nor a divisor of `tp`; before Megatron core 0.16 it must be a multiple: an error where `megatron:` says so, a warning where the framework of the job comes with such a version.',
  why: 'With fewer tensor-parallel ranks than query groups, each rank holds several key/value heads; with more, several ranks hold a copy of one. Both must come out even.',
  failing: job(16, 'tp: 4', 'model: {num_attention_heads: 24, num_query_groups: 6}'),
  sources: [TRANSFORMER_CONFIG],
  check: eachModel(function* ({ module, model, degrees }, facts) {
    // copies of key-value heads on several ranks came with core 0.16; what a framework comes with may be another in a job
    const pin = facts.root.megatron.written ? null : (facts.framework?.core ?? null);
    const isPinned = pin !== null && isBefore(pin.version, 16);
    const isOld = isPinned || isBefore(versionOf(facts), 16);
    const field = model.num_query_groups;
    const groups = field.value;
    const { tp } = degrees;
    const heads = model.num_attention_heads.value;
    // where tp does not divide the heads, that diagnostic comes first
    const isShared = groups !== undefined && !isOld && tp % groups === 0;
    if (groups === undefined || groups % tp === 0 || isShared || (heads !== undefined && heads % tp !== 0)) {
      return;
    }
    const fitting = [...(isOld ? [] : divisors(tp)), ...nearestMultiples(tp, groups)].sort(
      (a, b) => Math.abs(a - groups) - Math.abs(b - groups),
    );
    const better = [...new Set(fitting)].slice(0, 3);
    // another Megatron Core would repeat the heads
    const isOpen = isPinned && tp % groups === 0;
    yield {
      ...(isOpen && { severity: 'warning' as const }),
      message: `num_query_groups ${groups} is ${isOld ? `no multiple of tp ${tp}, which Megatron-LM before core 0.16 needs${isOpen ? ` (${facts.framework?.title} comes with ${pin.version})` : ''}` : `neither a multiple nor a divisor of tp ${tp}`}. Use num_query_groups ${eitherNumber(better)}.`,
      ...changes('num_query_groups', field, ...better),
      related: [
        ...writtenRelated('tp', module.fields.tp),
        ...(isOld ? writtenRelated('megatron', facts.root.megatron) : []),
      ],
      predicts: `num_query_groups (${groups}) must be a multiple ${isOld ? '' : 'or divisor '}of tensor_model_parallel_size (${tp}).`,
    };
  }),
};
