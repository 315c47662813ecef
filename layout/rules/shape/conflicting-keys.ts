import { removeField } from '../../format/edit';
import type { Field } from '../../format/spec';
import { changeFix, removeFix, suggestion } from '../fixes';
import { countOf } from '../numbers';
import { FORMAT_SOURCE, job, megatron, type Report, type Rule } from '../rule';

export const conflictingKeys: Rule = {
  code: 'conflicting-keys',
  severity: 'error',
  title: 'Keys that exclude each other',
  effect: 'one of the two has no effect',
  what: '`parallelism` is written beside `modules`; or `gtp_remat` and `num_weight_shards` say different things.',
  why: 'A job has one grid over the whole world or one grid a module, not both. Of two numbers of weight shards, Megatron-LM takes `num_weight_shards` and silently ignores the other.',
  failing: job(8, 'tp: 2', 'modules: {language: {num_ranks: 8}}'),
  sources: [FORMAT_SOURCE, megatron('megatron/core/model_parallel_config.py', 'resolve_tensor_parallel_weight_shards')],
  *check({ text, root, modules }) {
    if (root.parallelism.written && root.modules.written) {
      yield {
        message: 'Write parallelism (one grid over the world) or modules (one grid each), not both.',
        span: root.modules.keySpan,
        related: [{ message: 'parallelism is written here', span: root.parallelism.keySpan }],
        fixes: [removeFix(text, 'parallelism', root.parallelism), removeFix(text, 'modules', root.modules)],
      };
    }
    for (const { fields, degrees } of modules) {
      const { gtp_remat, num_weight_shards, expt_gtp_remat, expt_num_weight_shards } = fields;
      yield* shardConflict(text, 'gtp_remat', gtp_remat, num_weight_shards, degrees?.gtpRemat);
      yield* shardConflict(text, 'expt_gtp_remat', expt_gtp_remat, expt_num_weight_shards, degrees?.exptGtpRemat);
    }
  },
};

function* shardConflict(
  text: string,
  name: string,
  degree: Field<number>,
  shards: Field<number>,
  inForce: number | undefined,
): Iterable<Report> {
  if (degree.value === undefined || shards.value === undefined || inForce === undefined || degree.value === inForce) {
    return;
  }
  yield {
    severity: 'warning',
    message: `${name} is ${degree.value}, but ${countOf(shards.value, 'weight shard')} make it ${inForce}, and the shards win. Keep one of the two.`,
    span: degree.span,
    related: [{ message: `${shards.value} weight shards here`, span: shards.span }],
    fixes: [
      removeFix(text, name, degree),
      suggestion('Remove the number of weight shards', [removeField(text, shards)]),
      changeFix(name, degree, inForce),
    ],
  };
}
