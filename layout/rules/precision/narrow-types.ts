import { takesDefaults } from '../../topology/taken';
import { conditionsOn, firstBroken } from '../conditions';
import { insertFix, removeFix, setFix } from '../fixes';
import { job, type Rule, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';

export const narrowTypes: Rule = {
  code: 'narrow-types',
  severity: 'error',
  title: 'Types of 8 or 4 bits that cannot run',
  what: '`fp8_param_gather` or `fp4_param_gather` is on without the format of its products, `fp8_param_gather` without a sharded optimizer in a file that describes a whole training job, or `fp8_format` and `fp4_format` are both written.',
  why: 'Parameters are gathered in the type in which they are multiplied, and only sharded parameters are gathered.',
  failing: job(8, 'tp: 1', 'precision: {fp4_param_gather: true}'),
  sources: [VALIDATE_ARGS, TRANSFORMER_CONFIG],
  *check(facts) {
    const { text, root } = facts;
    const precision = root.precision.value;
    if (!precision) {
      return;
    }
    const { fp8_format: fp8, fp4_format: fp4, fp8_param_gather: gather8, fp4_param_gather: gather4 } = precision;
    const { torch_fsdp2: torch, enabled: sharded } = root.fsdp.value ?? {};
    const distributed = root.optimizer.value?.use_distributed_optimizer;
    const isSharded = [torch, sharded, distributed].some((field) => field?.value === true);
    const optimizer = root.optimizer;
    yield* firstBroken(text, [
      conditionsOn('fp8_param_gather', gather8)(
        gather8.value !== true || isSharded || !takesDefaults(facts),
        'fp8_param_gather needs use_distributed_optimizer or FSDP: only sharded parameters are gathered.',
        '--fp8-param-gather only supported with distributed optimizer, torch fsdp2, megatron fsdp, or inference mode',
        distributed ? setFix(text, optimizer.span, 'use_distributed_optimizer', distributed, 'true') : null,
      ),
      conditionsOn('fp4_format', fp4)(
        fp4.value === undefined || fp8.value === undefined,
        'fp4_format and fp8_format exclude one another. Remove one of them.',
        '--fp4-format and --fp8-format cannot be used simultaneously. Please choose one.',
        removeFix(text, 'fp8_format', fp8),
      ),
      conditionsOn('fp4_param_gather', gather4)(
        gather4.value !== true || fp4.written,
        'fp4_param_gather needs fp4_format. Write fp4_format e2m1.',
        '--fp4-param-gather must be used together with --fp4-format.',
        insertFix(text, root.precision.span, 'fp4_format: e2m1'),
      ),
      conditionsOn('fp8_param_gather', gather8)(
        // FSDP2 switches it off before it is looked at
        gather8.value !== true || fp8.written || torch?.value === true,
        'fp8_param_gather needs fp8_format. Write fp8_format e4m3 or hybrid.',
        'fp8_param must be used together with fp8 mode.',
        insertFix(text, root.precision.span, 'fp8_format: hybrid'),
      ),
    ]);
  },
};
