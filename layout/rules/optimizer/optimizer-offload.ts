import { takenOf } from '../../topology/taken';
import { byDefault, conditionsOn, firstBroken } from '../conditions';
import { setFix } from '../fixes';
import { job, type Rule, VALIDATE_ARGS } from '../rule';

export const optimizerOffload: Rule = {
  code: 'optimizer-offload',
  severity: 'error',
  title: 'Optimizer state in host memory without the options that it needs',
  what: '`optimizer_cpu_offload` is on and `use_precision_aware_optimizer` is false (information where it is not written: that is the default of Megatron-LM); or it stands beside `fp8_param_gather` and another recipe than `delayed`.',
  why: 'The optimizer that runs on host and GPU is a part of the precision-aware one.',
  failing: job(8, 'tp: 1', 'optimizer: {optimizer_cpu_offload: true, use_precision_aware_optimizer: false}'),
  sources: [VALIDATE_ARGS],
  *check(facts) {
    const optimizer = facts.root.optimizer.value;
    const field = optimizer?.optimizer_cpu_offload;
    if (!optimizer || field?.value !== true) {
      return;
    }
    const { text, root } = facts;
    const aware = takenOf(facts, 'optimizer', 'use_precision_aware_optimizer');
    const recipe = takenOf(facts, 'precision', 'fp8_recipe');
    const condition = conditionsOn('optimizer_cpu_offload', field);
    yield* firstBroken(text, [
      condition(
        byDefault(aware, aware.value !== false),
        `optimizer_cpu_offload needs use_precision_aware_optimizer${aware.isDefault ? ', which Megatron-LM leaves off by default' : ''}. Write use_precision_aware_optimizer true.`,
        'The optimizer cpu offload must be used in conjunction with `--use-precision-aware-optimizer`, as the hybrid device optimizer reuses the code path of this flag.',
        setFix(
          text,
          root.optimizer.span,
          'use_precision_aware_optimizer',
          optimizer.use_precision_aware_optimizer,
          'true',
        ),
      ),
      condition(
        root.precision.value?.fp8_param_gather.value !== true ||
          recipe.value === undefined ||
          recipe.value === 'delayed',
        `optimizer_cpu_offload beside fp8_param_gather needs fp8_recipe delayed, not ${recipe.value}.`,
        'When `--fp8-param-gather` is enabled, the optimizer cpu offload must be used in conjunction with `--fp8-recipe delayed`.',
      ),
    ]);
  },
};
