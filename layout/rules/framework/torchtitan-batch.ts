import { changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { inFramework, job, type Rule } from '../rule';

export const torchtitanBatch: Rule = {
  code: 'torchtitan-batch',
  severity: 'error',
  title: 'The global batch is no whole number of accumulation steps',
  effect: 'torchtitan stops on every rank',
  what: 'The `global_batch_size` of a torchtitan job is not a multiple of `micro_batch_size` (the local batch) times the data-parallel ranks, `dp_replicate * dp_shard`.',
  why: 'Gradients are accumulated over whole local batches of all data-parallel ranks; context-parallel ranks read the same samples.',
  failing: job(8, 'tp: 1', 'launch: {family: torchtitan}', 'batch: {micro_batch_size: 3, global_batch_size: 32}'),
  sources: [inFramework('pytorch/torchtitan', 'torchtitan/trainer.py', 'Trainer.__init__')],
  *check({ modules, root }) {
    const [module] = modules;
    const batch = root.batch.value;
    const [micro, global] = [batch?.micro_batch_size, batch?.global_batch_size];
    const dp = module?.dp;
    if (!micro?.value || !global?.value || dp === undefined || global.value % (micro.value * dp) === 0) {
      return;
    }
    const step = micro.value * dp;
    const length = module?.sequence.value?.seq_length.value;
    const better = nearestMultiples(step, global.value);
    yield {
      message: `global_batch_size ${global.value} is not a multiple of micro_batch_size ${micro.value} x dp ${dp} = ${step}. Use global_batch_size ${eitherNumber(better)}.`,
      ...changes('global_batch_size', global, ...better),
      related: [valueRelated('micro_batch_size', micro)],
      predicts:
        length === undefined
          ? null
          : `training.num_tokens_per_train_step (${global.value * length}) must be divisible by the number of tokens processed globally in one gradient accumulation iteration (${step * length}).`,
    };
  },
};
