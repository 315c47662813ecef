import { changes } from '../fixes';
import { eitherNumber, nearestDivisors } from '../numbers';
import { writtenRelated } from '../related';
import { inFramework, type Rule } from '../rule';

export const slimeBatch: Rule = {
  code: 'slime-batch',
  severity: 'error',
  title: 'The samples of a rollout are no whole number of global batches',
  effect: 'slime stops, or drops the samples that are left over without a word',
  what: 'In a slime job, `prompts_per_step * samples_per_prompt` (`rollout_batch_size * n_samples_per_prompt`) is not a multiple of `global_batch_size`, or not `global_batch_size * updates_per_step`.',
  why: 'A rollout is trained on in whole steps of `global_batch_size` samples. With `num_steps_per_rollout` slime compares the sizes; without it, it rounds the number of steps down, and the samples behind them were generated for nothing.',
  failing:
    'layout: 1\nworld_size: 8\nlaunch: {family: slime}\nparallelism: {tp: 2}\nbatch: {global_batch_size: 200}\nrl: {prompts_per_step: 32, samples_per_prompt: 8}\n',
  sources: [
    inFramework('THUDM/slime', 'slime/utils/arguments.py', 'slime_validate_args'),
    inFramework('THUDM/slime', 'slime/utils/dp_schedule.py', 'build_dp_schedule'),
  ],
  *check({ root }) {
    const rl = root.rl.value;
    const global = root.batch.value?.global_batch_size;
    const prompts = rl?.prompts_per_step.value;
    const samples = rl?.samples_per_prompt.written ? rl.samples_per_prompt.value : 1;
    if (!rl || !global?.value || prompts === undefined || samples === undefined) {
      return;
    }
    const total = prompts * samples;
    const updates = rl.updates_per_step;
    const product = `prompts_per_step ${prompts} x samples_per_prompt ${samples} = ${total} samples`;
    const related = [
      ...writtenRelated('prompts_per_step', rl.prompts_per_step),
      ...writtenRelated('samples_per_prompt', rl.samples_per_prompt),
    ];
    if (updates.value !== undefined) {
      const expected = Math.floor(total / updates.value);
      if (expected !== global.value) {
        yield {
          message: `${product} / updates_per_step ${updates.value} = ${expected}, but global_batch_size is ${global.value}. Use global_batch_size ${expected}, or leave it out.`,
          ...changes('global_batch_size', global, expected),
          related: [...related, ...writtenRelated('updates_per_step', updates)],
          predicts: `global_batch_size ${global.value} is not equal to rollout_batch_size ${prompts} * n_samples_per_prompt ${samples} // num_steps_per_rollout ${updates.value}`,
        };
      }
      return;
    }
    if (total % global.value !== 0) {
      const size = global.value;
      const better = nearestDivisors(total, size, 2);
      const left = total % size;
      yield {
        message: `${product}, not a multiple of global_batch_size ${size}${total < size ? '' : `: ${left} of them are never trained on`}. Use global_batch_size ${eitherNumber(better)}.`,
        ...changes('global_batch_size', global, ...better),
        related,
        predicts:
          total < size
            ? `num_rollouts (${total}) < global_batch_size (${size}); need at least one rollout per step.`
            : null,
      };
    }
  },
};
