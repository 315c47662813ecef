import { valuesOf } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { virtualSize } from '../../topology/stages';
import { takenOf, takenText } from '../../topology/taken';
import { byDefault, conditionsOn, firstBroken } from '../conditions';
import { changeFix, insertFix, removeFix, setFix } from '../fixes';
import { job, type Report, type Rule, TRANSFORMER_CONFIG } from '../rule';

export const expertOverlap: Rule = {
  code: 'expert-overlap',
  severity: 'error',
  title: 'Expert all-to-all overlap without the options that it needs',
  what: '`overlap_moe_expert_parallel_comm` is on without expert parallelism, with a pipeline that is not interleaved, with the `allgather` dispatcher (the default of Megatron-LM), with full recomputation, with parameters in fp32, with `moe_shared_expert_overlap`, or with more than one MTP layer; or `delay_wgrad_compute` is on without it.',
  why: 'The all-to-all of one micro-batch hides behind the computation of another, for which the schedule must hold two.',
  failing: job(8, 'tp: 1', 'moe: {overlap_moe_expert_parallel_comm: true}'),
  sources: [TRANSFORMER_CONFIG],
  *check(facts) {
    const { root, modules, text } = facts;
    const moe = root.moe.value;
    const [module] = modules;
    if (moe?.overlap_moe_expert_parallel_comm.value !== true || !module?.degrees) {
      yield* delayedAlone(facts);
      return;
    }
    const recompute = root.recompute.value;
    const dispatcher = takenOf(facts, 'moe', 'moe_token_dispatcher_type');
    const parts = valuesOf(recompute?.modules.value);
    const mtp = root.model.value?.mtp_num_layers.value ?? 0;
    const field = moe.overlap_moe_expert_parallel_comm;
    const name = 'overlap_moe_expert_parallel_comm';
    const condition = conditionsOn(name, field);
    const { fields, span } = module;
    yield* firstBroken(text, [
      condition(
        module.degrees.pp === 1 || virtualSize(facts, module) !== null,
        `${name} needs an interleaved pipeline. Write vpp, or use pp 1.`,
        'If enabling EP A2A overlap, virtual_pipeline_model_parallel_size must be specified when pipeline_model_parallel_size > 1',
        insertFix(text, span, 'vpp: 2'),
      ),
      condition(
        module.degrees.ep > 1,
        `${name} needs expert parallelism; ep is 1. Use ep 2 or more.`,
        'overlap_moe_expert_parallel_comm is only supported with expert model parallelism',
        setFix(text, span, 'ep', fields.ep, 2),
      ),
      condition(
        byDefault(dispatcher, dispatcher.value !== 'allgather'),
        `${name} needs the alltoall or flex dispatcher, not ${takenText(dispatcher)}. Use alltoall.`,
        'overlap_moe_expert_parallel_comm is supported with alltoall/flex token dispatcher',
        setFix(text, root.moe.span, 'moe_token_dispatcher_type', moe.moe_token_dispatcher_type, 'alltoall'),
      ),
      condition(
        recompute?.granularity.value !== 'full',
        `${name} excludes full recomputation. Use selective, or none.`,
        'disable full recomputation when enabling overlap_moe_expert_parallel_comm',
        recompute ? changeFix('granularity', recompute.granularity, 'selective') : null,
      ),
      condition(
        recompute?.method.value === undefined,
        `${name} excludes a recomputation method. Leave it out.`,
        'disable recomputation method when enabling overlap_moe_expert_parallel_comm',
        recompute ? removeFix(text, 'method', recompute.method) : null,
      ),
      condition(
        recompute?.num_layers.value === undefined,
        `${name} excludes a number of recomputed layers. Leave it out.`,
        'recompute_num_layers must be None when enabling overlap_moe_expert_parallel_comm',
        recompute ? removeFix(text, 'num_layers', recompute.num_layers) : null,
      ),
      condition(
        !parts.includes('moe'),
        `${name} excludes recomputation of moe. Leave it out of the modules.`,
        'disable moe in recompute_modules when enabling overlap_moe_expert_parallel_comm',
      ),
      condition(
        root.model.value?.params_dtype.value !== 'fp32',
        `${name} needs parameters in bf16 or fp16. Use params_dtype bf16.`,
        'overlap_moe_expert_parallel_comm is only supported with bf16 or fp16 model',
      ),
      condition(
        moe.moe_shared_expert_overlap.value !== true,
        `${name} excludes moe_shared_expert_overlap. Use one of them.`,
        'disable moe_shared_expert_overlap when enabling overlap_moe_expert_parallel_comm',
        removeFix(text, 'moe_shared_expert_overlap', moe.moe_shared_expert_overlap),
      ),
      condition(
        mtp <= 1,
        `${name} takes one MTP layer at most; mtp_num_layers is ${mtp}.`,
        'MTP supports at most one layer when enabling overlap_moe_expert_parallel_comm.',
        root.model.value ? changeFix('mtp_num_layers', root.model.value.mtp_num_layers, 1) : null,
      ),
    ]);
  },
};

/** Delayed weight gradients hide nothing where the all-to-all is not overlapped. */
function delayedAlone({ root, text, trainingScript }: LayoutFacts): Report[] {
  const { delay_wgrad_compute: delay, overlap_moe_expert_parallel_comm: overlap } = root.moe.value ?? {};
  return firstBroken(text, [
    conditionsOn('delay_wgrad_compute', delay)(
      delay?.value !== true || !(overlap?.written || trainingScript),
      'delay_wgrad_compute needs overlap_moe_expert_parallel_comm. Write overlap_moe_expert_parallel_comm true.',
      'overlap_moe_expert_parallel_comm must be enabled when enabling delay_wgrad_compute',
    ),
  ]);
}
