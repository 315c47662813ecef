import type { Field } from '../../format/spec';
import { type LayoutFacts, valueOr } from '../../topology/facts';
import { stagePlans, virtualSize } from '../../topology/stages';
import { changes, removeFix, setFix } from '../fixes';
import { writtenRelated } from '../related';
import { job, PARALLEL_STATE, type Report, type Rule, VALIDATE_ARGS } from '../rule';

/** What Megatron-LM says of one or two interleaved stages whose transfers are not overlapped. */
const TWO_STAGES =
  'When interleaved schedule is used and p2p communication overlap is disabled, pipeline-model-parallel size should be greater than 2 to avoid having multiple p2p sends and recvs between same 2 ranks per communication batch';

export const vppNeedsPp: Rule = {
  code: 'vpp-needs-pp',
  severity: 'error',
  title: 'Virtual stages without a pipeline',
  what: '`vpp` is written while `pp` is 1; or the pipeline is interleaved over 2 stages while `overlap_p2p_comm` is false.',
  why: 'The interleaved schedule puts several chunks of layers on every stage of a pipeline. Without a pipeline there is nothing to interleave.',
  failing: job(8, 'tp: 2, vpp: 2'),
  passing: job(8, 'tp: 2, pp: 2, vpp: 2'),
  sources: [PARALLEL_STATE, VALIDATE_ARGS],
  *check(facts) {
    const { text, root, trainingScript } = facts;
    const { value: parallelism, span } = root.parallelism;
    yield* twoStages(facts);
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
        ? facts.root.parallelism.value?.overlap_p2p_comm.value === false
          ? TWO_STAGES
          : 'When interleaved schedule is used, pipeline-model-parallel size should be greater than 1'
        : (configError(facts) ?? 'pipeline-model-parallel size should be greater than 1 with interleaved schedule'),
      fixes: [removeFix(text, 'vpp', vpp), setFix(text, span, 'pp', pp, 2)],
    };
  },
};

/** What `TransformerConfig` says of the virtual stages where it looks at them; null where it takes them. */
function configError(facts: LayoutFacts): string | null {
  const [plan] = stagePlans(facts);
  return plan?.error?.message.includes('virtual_pipeline') ? plan.error.message : null;
}

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

/** Two interleaved stages whose transfers are not overlapped: both directions would meet in one batch. */
function* twoStages(facts: LayoutFacts): Iterable<Report> {
  const overlap = facts.root.parallelism.value?.overlap_p2p_comm;
  const [module] = facts.modules;
  if (overlap?.value !== false || module?.degrees?.pp !== 2 || virtualSize(facts, module) === null) {
    return;
  }
  yield {
    severity: facts.trainingScript ? 'error' : 'warning',
    message:
      'An interleaved pipeline of 2 stages needs overlap_p2p_comm. Leave overlap_p2p_comm out, or use pp 3 or more.',
    ...changes('overlap_p2p_comm', overlap, 'true'),
    related: writtenRelated('pp', module.fields.pp),
    predicts: TWO_STAGES,
  };
}
