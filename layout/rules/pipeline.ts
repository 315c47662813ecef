import { removeField, setKey } from '../format/edit';
import { valueOr } from '../topology/facts';
import { changeFix, suggestion } from './fixes';
import type { Rule } from './rule';
import { otherSource } from './source';

export const vppNeedsPp: Rule = {
  code: 'vpp-needs-pp',
  severity: 'error',
  title: 'Virtual stages without a pipeline',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`vpp` is written while `pp` is 1.',
  why: 'The interleaved schedule lays several chunks of layers on every stage of a pipeline; without a pipeline there is nothing to interleave. Megatron-LM stops every rank.',
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
  sources: [otherSource('`initialize_model_parallel` in megatron/core/parallel_state.py')],
  *check({ text, root, trainingScript }) {
    const { value: parallelism, span } = root.parallelism;
    if (!parallelism || parallelism.vpp.value === undefined || valueOr(parallelism.pp, 1) !== 1) {
      return;
    }
    const { pp, vpp } = parallelism;
    const pipeline = pp.written ? null : setKey(text, span, 'pp', pp, 2);
    yield {
      message: `vpp is ${vpp.value}, but pp is 1: without a pipeline there are no stages to interleave. Remove vpp, or use pp 2 or more.`,
      span: vpp.span,
      related: pp.written ? [{ message: 'pp is 1 here', span: pp.span }] : [],
      predicts: trainingScript
        ? 'When interleaved schedule is used, pipeline-model-parallel size should be greater than 1'
        : 'pipeline-model-parallel size should be greater than 1 with interleaved schedule',
      fixes: [
        suggestion('Remove `vpp`', [removeField(text, vpp)]),
        ...(pp.written ? [changeFix('pp', pp.span, 2)] : []),
        ...(pipeline ? [suggestion('Write pp 2', [pipeline])] : []),
      ],
    };
  },
};
