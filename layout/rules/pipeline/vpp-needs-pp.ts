import type { Field } from '../../format/spec';
import { valueOr } from '../../topology/facts';
import { changeFix, insertFix, removeFix } from '../fixes';
import { writtenRelated } from '../related';
import type { Report, Rule } from '../rule';
import { megatron } from '../source';

export const vppNeedsPp: Rule = {
  code: 'vpp-needs-pp',
  severity: 'error',
  title: 'Virtual stages without a pipeline',
  effect: 'Megatron-LM stops on every rank',
  what: '`vpp` is written while `pp` is 1.',
  why: 'The interleaved schedule puts several chunks of layers on every stage of a pipeline. Without a pipeline there is nothing to interleave.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  vpp: 2
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  pp: 2
  vpp: 2
`,
  sources: [
    megatron('megatron/core/parallel_state.py', 'initialize_model_parallel'),
    megatron('megatron/training/arguments.py', 'validate_args'),
  ],
  *check({ text, root, trainingScript }) {
    const { value: parallelism, span } = root.parallelism;
    if (!parallelism || parallelism.vpp.value === undefined || valueOr(parallelism.pp, 1) !== 1) {
      return;
    }
    const { pp, vpp } = parallelism;
    if (vpp.value === 1) {
      yield* oneChunk(text, vpp, trainingScript);
      return;
    }
    yield {
      message: `vpp ${vpp.value} needs a pipeline, and pp is 1. Remove vpp, or use pp 2 or more.`,
      span: vpp.span,
      related: writtenRelated('pp', pp),
      predicts: trainingScript
        ? 'When interleaved schedule is used, pipeline-model-parallel size should be greater than 1'
        : 'pipeline-model-parallel size should be greater than 1 with interleaved schedule',
      fixes: [removeFix(text, 'vpp', vpp), pp.written ? changeFix('pp', pp.span, 2) : insertFix(text, span, 'pp: 2')],
    };
  },
};

/** `vpp: 1` is no interleaving to the training script; only a bare call refuses it. */
function* oneChunk(text: string, vpp: Field<number>, trainingScript: boolean): Iterable<Report> {
  if (!trainingScript) {
    yield {
      severity: 'information',
      message:
        'vpp 1 is no interleaving. The training script leaves it out; a bare initialize_model_parallel with pp 1 refuses it. Remove vpp.',
      span: vpp.span,
      predicts: 'pipeline-model-parallel size should be greater than 1 with interleaved schedule',
      fixes: [removeFix(text, 'vpp', vpp)],
    };
  }
}
