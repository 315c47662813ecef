import { weightUpdates, weightUpdateText } from '../../checkpoint/weightUpdate';
import { FRAMEWORKS } from '../../frameworks';
import { FORMAT_SOURCE, job, type Rule } from '../rule';

export const weightSync: Rule = {
  code: 'weight-sync',
  severity: 'information',
  title: 'How weights travel from the trainer to engines of another tensor-parallel size',
  effect: 'each update gathers whole tensors',
  what: 'The engines of the phase `rollout` cut tensors otherwise than the trainer: another `tp`, or a pipeline that the engine does not have.',
  why: "After each step the engines take the new weights. Where both sides cut a tensor alike, a rank can hand over its own part; else each tensor is gathered over the trainer's `tp` ranks (and comes stage by stage), and every engine rank cuts its own part of it.",
  failing: job(8, 'tp: 4, pp: 2', 'phases: {rollout: {engine: vllm, tp: 2}}'),
  passing: job(8, 'tp: 2', 'phases: {rollout: {engine: vllm, tp: 2}}'),
  sources: [...new Set(FRAMEWORKS.flatMap(({ weightUpdates }) => weightUpdates?.source ?? [])), FORMAT_SOURCE],
  *check(facts) {
    for (const update of weightUpdates(facts)) {
      const phase = facts.root.phases.value?.find(({ name }) => name === update.phase);
      if (phase?.value && !update.isAlike && facts.framework?.rules.megatron !== 'none') {
        yield {
          message: weightUpdateText(update),
          span: phase.value.tp.written ? phase.value.tp.span : phase.keySpan,
        };
      }
    }
  },
};
