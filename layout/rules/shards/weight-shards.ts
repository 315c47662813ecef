import type { Field } from '../../format/spec';
import { valueOr } from '../../topology/facts';
import { changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { job, megatron, type Report, type Rule } from '../rule';
import { DENSE_SHARDS, EXPERT_SHARDS, expertTp, type ShardNames, tooFewShards } from './shard-names';

export const weightShards: Rule = {
  code: 'weight-shards',
  severity: 'error',
  title: 'tp does not divide the weight shards',
  what: '`num_weight_shards` is less than `tp` or not a multiple of it; likewise `expt_num_weight_shards` and `expt_tp`.',
  why: 'Each of the `tp` parts of a weight is cut into the same number of shards, so their total is `tp * gtp_remat`.',
  failing: job(8, 'tp: 2, num_weight_shards: 3'),
  sources: [megatron('megatron/core/model_parallel_config.py', 'resolve_tensor_parallel_weight_shards')],
  *check(facts) {
    for (const module of facts.ignoresGtp ? [] : facts.modules) {
      const { fields } = module;
      const tp = valueOr(fields.tp, 1);
      yield* shardReports(DENSE_SHARDS, fields.num_weight_shards, tp, fields.tp);
      const expert = expertTp(module, tp);
      const from = fields.expt_tp.written ? 'expt_tp is' : 'expt_tp defaults to tp, which is';
      const field = fields.expt_tp.written || module.own ? fields.expt_tp : fields.tp;
      yield* shardReports(EXPERT_SHARDS, fields.expt_num_weight_shards, expert, field, from);
    }
  },
};

function* shardReports(
  names: ShardNames,
  shards: Field<number>,
  tp: number | undefined,
  tpField: Field<number>,
  from = `${names.tp} is`,
): Iterable<Report> {
  if (shards.value === undefined || tp === undefined || (shards.value >= tp && shards.value % tp === 0)) {
    return;
  }
  const few = shards.value < tp;
  const better = few ? [tp, 2 * tp] : nearestMultiples(tp, shards.value);
  yield {
    message: `${names.shards} is ${shards.value}, which is ${few ? 'less than' : 'not a multiple of'} ${names.tp} ${tp}. Use ${eitherNumber(better)}.`,
    ...changes(names.shards, shards, ...better),
    related: tpField.written ? [{ message: `${from} ${tp} here`, span: tpField.span }] : [],
    predicts: few
      ? tooFewShards(names, shards.value, tp)
      : `${names.flag} (${shards.value}) must be divisible by ${names.tpFlag} (${tp}).`,
  };
}
