import { sizedDegrees, sizesOf } from '../../frameworks';
import { changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { inFramework, type Rule } from '../rule';

export const deepspeedBatch: Rule = {
  code: 'deepspeed-batch',
  severity: 'error',
  title: "DeepSpeed's batch is not the product of its parts",
  effect: 'DeepSpeed stops on every rank',
  what: 'A DeepSpeed job has a `global_batch_size` (`train_batch_size`) that is not `micro_batch_size * gradient_accumulation_steps * dp`; or, with no `gradient_accumulation_steps`, is not a multiple of `micro_batch_size * dp`.',
  why: 'DeepSpeed works out the one of the three numbers that is missing, rounding down, and compares the product. `dp` leaves out ranks of tensor, sequence and pipeline parallelism, which read the same samples.',
  failing:
    'layout: 1\nworld_size: 4\nlaunch: {family: deepspeed}\nbatch: {micro_batch_size: 2, gradient_accumulation_steps: 1, global_batch_size: 16}\n',
  sources: [
    inFramework(
      'deepspeedai/DeepSpeed',
      'deepspeed/runtime/config.py',
      'DeepSpeedConfig._set_batch_related_parameters',
      '_batch_assertion',
    ),
  ],
  *check({ framework, root, world }) {
    const batch = root.batch.value;
    const degrees = framework?.world && sizedDegrees(framework.world, root, world.size);
    const [global, micro, steps] = [
      batch?.global_batch_size,
      batch?.micro_batch_size,
      batch?.gradient_accumulation_steps,
    ];
    const dp = degrees ? sizesOf(degrees).dp : undefined;
    // where Megatron-LM's flags say the batch, its own check comes first
    const isOpen = steps?.written !== true && framework?.name !== 'deepspeed';
    if (!global?.value || !micro?.value || !dp || !batch || isOpen) {
      return;
    }
    const size = global.value;
    const accumulated = steps?.value ?? Math.floor(size / (micro.value * dp));
    const product = micro.value * accumulated * dp;
    if (product === size || (steps?.written && steps.value === undefined)) {
      return;
    }
    const better = steps?.written ? [product] : nearestMultiples(micro.value * dp, size);
    yield {
      message: steps?.written
        ? `micro_batch_size ${micro.value} x gradient_accumulation_steps ${accumulated} x dp ${dp} = ${product}, but global_batch_size is ${size}. Use global_batch_size ${product}.`
        : `global_batch_size ${size} is not a multiple of micro_batch_size ${micro.value} x dp ${dp} = ${micro.value * dp}. Use global_batch_size ${eitherNumber(better)}.`,
      ...changes('global_batch_size', global, ...better),
      related: [
        valueRelated('micro_batch_size', micro),
        ...(steps?.written ? [valueRelated('gradient_accumulation_steps', steps)] : []),
      ],
      predicts:
        accumulated === 0
          ? `Gradient accumulation steps: ${accumulated} has to be greater than 0`
          : `Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size ${size} != ${micro.value} * ${accumulated} * ${dp}`,
    };
  },
};
