import { type LayoutFacts, valueOr } from '../../topology/facts';
import { countOf } from '../numbers';
import type { Rule } from '../rule';
import { FORMAT_SOURCE, otherSource } from '../source';

export const weightSync: Rule = {
  code: 'weight-sync',
  severity: 'information',
  title: 'How weights travel from the trainer to engines of another tensor-parallel size',
  effect: 'each update gathers whole tensors',
  what: 'The engines of the phase `rollout` cut tensors otherwise than the trainer: another `tp`, or a pipeline that the engine does not have.',
  why: "After each step the engines take the new weights. Where both sides cut a tensor alike, a rank can hand over its own part; else each tensor is gathered over the trainer's `tp` ranks (and comes stage by stage), and every engine rank cuts its own part of it.",
  failing: 'layout: 1\nworld_size: 8\nparallelism: {tp: 4, pp: 2}\nphases: {rollout: {engine: vllm, tp: 2}}\n',
  passing: 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nphases: {rollout: {engine: vllm, tp: 2}}\n',
  sources: [
    otherSource(
      '`UpdateWeightFromDistributed` and `UpdateWeightFromTensor` in slime/backends/megatron_utils/update_weight (THUDM/slime at 624b824a89)',
    ),
    FORMAT_SOURCE,
  ],
  *check(facts) {
    const { root, modules } = facts;
    const rollout = root.phases.value?.find(({ name }) => name === 'rollout');
    const phase = rollout?.value;
    const degrees = modules[0]?.degrees;
    const engine = phase && valueOr(phase.tp, 1);
    const serves = phase && valueOr(phase.engine, 'megatron') !== 'megatron';
    if (!rollout || !serves || !degrees || engine === undefined || facts.heterogeneous) {
      return;
    }
    const { tp, pp } = degrees;
    if ((tp === engine && pp === 1) || facts.framework?.rules.megatron === 'none') {
      return;
    }
    yield {
      message: `Weights go from tp ${tp}${pp > 1 ? ` x pp ${pp}` : ''} to engines of tp ${engine}: ${senders(facts, tp, pp)}, and each engine rank ${engine === 1 ? 'takes all of it' : `cuts 1/${engine} of it`}.`,
      span: phase.tp.written ? phase.tp.span : rollout.keySpan,
    };
  },
};

/** Who gathers whole tensors: the ranks of the first replica, stage by stage. */
function senders({ modules, root }: LayoutFacts, tp: number, pp: number): string {
  const ranks = modules[0]?.ranks ?? 0;
  const stride = ranks / pp;
  const firsts = Array.from({ length: Math.min(pp, 4) }, (_, stage) => stage * stride);
  const own = root.rl.value?.rollout_gpus.value;
  const from = pp === 1 ? 'rank 0' : `ranks ${firsts.join(', ')}${pp > 4 ? ', ...' : ''} (one a stage)`;
  if (own !== undefined && root.rl.value?.colocated.value !== true) {
    const s = pp === 1 ? 's' : '';
    return `${from} ${tp > 1 ? `gather${s} each tensor over tp ${tp} and broadcast${s} it` : `broadcast${s} each tensor`} to the ${countOf(own, 'GPU')} of the engines`;
  }
  const whole =
    tp > 1 ? `every rank gathers each tensor over tp ${tp}` : 'every rank has each tensor of its stage whole';
  return `${whole}${pp > 1 ? ' and takes those of other stages from their ranks' : ''}`;
}
