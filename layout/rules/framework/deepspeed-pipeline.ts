import { changeFix, removeFix } from '../fixes';
import { both } from '../numbers';
import { writtenRelated } from '../related';
import { inFramework, job, type Rule } from '../rule';

export const deepspeedPipeline: Rule = {
  code: 'deepspeed-pipeline',
  severity: 'error',
  title: 'DeepSpeed does not combine these with a pipeline or with Ulysses',
  effect: 'DeepSpeed stops on every rank',
  what: 'A Megatron-DeepSpeed job has `zero_stage` 2 or 3 beside `pp` above 1; or `ulysses` beside `tp` or `pp` above 1. `sequence_parallel` beside `tp` and `pp` above 1 is a warning: the job trains on wrong activations.',
  why: 'The pipeline engine runs many backward passes before it reduces gradients, which ZeRO 2 and 3 would shard after each. Megatron-DeepSpeed lays out Ulysses over ranks without tensor and pipeline parallelism only.',
  failing: job(8, 'pp: 2', 'launch: {family: megatron-lm, engine: deepspeed}', 'optimizer: {zero_stage: 2}'),
  sources: [
    inFramework('deepspeedai/DeepSpeed', 'deepspeed/runtime/pipe/engine.py', 'PipelineEngine.__init__'),
    inFramework('deepspeedai/Megatron-DeepSpeed', 'megatron/core/parallel_state.py', 'initialize_model_parallel'),
  ],
  *check({ root, text }) {
    const parallelism = root.parallelism.value;
    const stage = root.optimizer.value?.zero_stage;
    const [tp = 1, pp = 1, ulysses = 1] = [parallelism?.tp.value, parallelism?.pp.value, parallelism?.ulysses.value];
    if (!parallelism) {
      return;
    }
    if (stage?.value !== undefined && stage.value >= 2 && pp > 1) {
      yield {
        message: `ZeRO ${stage.value} shards gradients, which a pipeline of pp ${pp} does not allow. Use zero_stage 1, or pp 1.`,
        span: stage.span,
        related: writtenRelated('pp', parallelism.pp),
        predicts: 'ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism',
        fixes: [changeFix('zero_stage', stage, 1), changeFix('pp', parallelism.pp, 1)],
      };
    }
    const cut = root.sequence.value?.sequence_parallel;
    if (cut?.value === true && pp > 1 && tp > 1) {
      yield {
        severity: 'warning',
        message: `sequence_parallel beside pp ${pp} and tp ${tp}: DeepSpeed's pipeline cuts the activations that it sends along tp, and gathers them behind; those that are cut already come out as others. Use sequence_parallel false, or pp 1.`,
        span: cut.span,
        related: [...writtenRelated('tp', parallelism.tp), ...writtenRelated('pp', parallelism.pp)],
        fixes: [removeFix(text, 'sequence_parallel', cut), changeFix('pp', parallelism.pp, 1)],
      };
    }
    if (ulysses > 1 && (tp > 1 || pp > 1)) {
      const others = [
        { name: 'tp', size: tp },
        { name: 'pp', size: pp },
      ].filter(({ size }) => size > 1);
      yield {
        message: `ulysses ${ulysses} does not work with ${both(others.map(({ name, size }) => `${name} ${size}`))}. Use ulysses 1, or ${both(others.map(({ name }) => `${name} 1`))}.`,
        span: parallelism.ulysses.span,
        related: [...writtenRelated('tp', parallelism.tp), ...writtenRelated('pp', parallelism.pp)],
        predicts: "DeepSpeed's sequence parallel does not work with tensor parallel or pipeline parallel",
        fixes: [removeFix(text, 'ulysses', parallelism.ulysses)],
      };
    }
  },
};
