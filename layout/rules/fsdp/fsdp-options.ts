import type { Field } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { type Condition, conditionsOn, firstBroken } from '../conditions';
import { changeFix } from '../fixes';
import type { Rule } from '../rule';
import { megatron } from '../source';

export const fsdpOptions: Rule = {
  code: 'fsdp-options',
  severity: 'error',
  title: 'Fully sharded data parallelism excludes these options',
  effect: 'Megatron-LM stops on every rank',
  what: 'Megatron-FSDP is on with a checkpoint format other than `fsdp_dtensor`; PyTorch FSDP2 with a pipeline, experts in parallel, the distributed optimizer, tied embeddings or a checkpoint format of its own; or a checkpoint format asks for one of them and it is off.',
  why: 'Sharded parameters are saved by formats of their own, and each implementation supports some kinds of parallelism only.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 1
fsdp:
  enabled: true
checkpoint:
  ckpt_format: torch_dist
`,
  sources: [megatron('megatron/training/arguments.py', 'validate_args')],
  *check(facts) {
    yield* firstBroken(facts.text, [
      ...versions(facts),
      ...torchFsdp2(facts),
      ...megatronFsdp(facts),
      ...formats(facts),
    ]);
  },
};

/** The script reads no other version, whether it uses Megatron-FSDP or not. */
function versions({ root }: LayoutFacts): Condition[] {
  const field = root.fsdp.value?.megatron_fsdp_version;
  return field
    ? [
        {
          name: 'megatron_fsdp_version',
          field,
          holds: field.value === undefined || field.value <= 2,
          message: `There is no Megatron-FSDP version ${field.value}. Use 1 or 2.`,
          predicts: null,
          fixes: [1, 2].map((n) => changeFix('megatron_fsdp_version', field.span, n)),
        },
      ]
    : [];
}

function torchFsdp2({ root, modules }: LayoutFacts): Condition[] {
  const field = root.fsdp.value?.torch_fsdp2;
  const [module] = modules;
  if (field?.value !== true || !module?.degrees) {
    return [];
  }
  const { pp, ep } = module.degrees;
  const format = root.checkpoint.value?.ckpt_format.value;
  const untied = root.model.value?.untie_embeddings_and_output_weights;
  const condition = conditionsOn('torch_fsdp2', field);
  return [
    condition(
      pp === 1,
      `torch_fsdp2 excludes a pipeline; pp is ${pp}. Use pp 1.`,
      '--use-torch-fsdp2 is not supported with pipeline parallelism',
    ),
    condition(
      ep === 1,
      `torch_fsdp2 excludes expert parallelism; ep is ${ep}. Use ep 1.`,
      '--use-torch-fsdp2 is not supported with expert parallelism',
    ),
    condition(
      root.optimizer.value?.use_distributed_optimizer.value !== true,
      'torch_fsdp2 shards the optimizer itself. Leave use_distributed_optimizer out.',
      "--use-torch-fsdp2 is not supported with MCore's distributed optimizer",
    ),
    condition(
      root.optimizer.value?.gradient_accumulation_fusion.value !== true,
      'torch_fsdp2 excludes gradient_accumulation_fusion. Write gradient_accumulation_fusion false.',
      '--use-torch-fsdp2 is not supported with gradient accumulation fusion',
    ),
    condition(
      format === undefined || format === 'torch_dist' || format === 'torch_dcp',
      `torch_fsdp2 needs ckpt_format torch_dist or torch_dcp, not ${format}.`,
      '--use-torch-fsdp2 requires --ckpt-format torch_dist or torch_dcp',
    ),
    condition(
      !isDescribed(root.model.value?.num_layers) || untied?.value === true,
      'torch_fsdp2 needs an output layer with weights of its own. Write untie_embeddings_and_output_weights true under model.',
      '--use-torch-fsdp2 requires --untie-embeddings-and-output-weights',
    ),
    condition(
      root.model.value?.params_dtype.value !== 'fp16',
      'torch_fsdp2 does not run with fp16 yet. Use bf16.',
      '--use-torch-fsdp2 not supported with fp16 yet',
    ),
  ];
}

function isDescribed(field: Field<unknown> | undefined): boolean {
  return field?.written ?? false;
}

function megatronFsdp({ root }: LayoutFacts): Condition[] {
  const fsdp = root.fsdp.value;
  if (fsdp?.enabled.value !== true) {
    return [];
  }
  const version = fsdp.megatron_fsdp_version;
  const optimizer = root.optimizer.value;
  const format = root.checkpoint.value?.ckpt_format;
  const base = { name: 'enabled', field: fsdp.enabled };
  const isDistributed = optimizer?.use_distributed_optimizer.value === true;
  const kind = optimizer?.optimizer.value;
  return [
    {
      ...base,
      holds: version.value !== 2 || !isDistributed,
      message: 'Megatron-FSDP version 2 shards the optimizer itself. Leave use_distributed_optimizer out.',
      predicts: '--megatron-fsdp-version 2 is not compatible with --use-distributed-optimizer',
    },
    {
      ...base,
      holds: kind === undefined || kind === 'adam' || kind === 'sgd',
      message: `Megatron-FSDP does not run with the optimizer ${kind}. Use adam or sgd.`,
      predicts: `Megatron-FSDP does not support the ${kind} optimizer yet.`,
    },
    {
      name: 'ckpt_format',
      field: format ?? fsdp.enabled,
      holds: format?.value === undefined || format.value === 'fsdp_dtensor',
      message: `Megatron-FSDP cannot write ckpt_format ${format?.value}. Use fsdp_dtensor.`,
      fixes: [format ? changeFix('ckpt_format', format.span, 'fsdp_dtensor') : null],
      predicts: 'Megatron-FSDP requires the `fsdp_dtensor` checkpointing format.',
    },
  ];
}

function formats({ root, modules }: LayoutFacts): Condition[] {
  const field = root.checkpoint.value?.ckpt_format;
  const degrees = modules[0]?.degrees;
  if (!field || !degrees) {
    return [];
  }
  const isDcp = field.value === 'torch_dcp';
  const condition = (holds: boolean, message: string, predicts: string): Condition => ({
    name: 'ckpt_format',
    field,
    holds,
    message,
    predicts,
    fixes: [changeFix('ckpt_format', field.span, 'torch_dist')],
  });
  const isSharded = degrees.gtpRemat > 1 || degrees.exptGtpRemat > 1;
  return [
    condition(
      !isSharded || field.value === undefined || field.value === 'torch' || field.value === 'torch_dist',
      `Generalized TP needs ckpt_format torch or torch_dist, not ${field.value}.`,
      `GTP supports only --ckpt-format 'torch' (legacy) or 'torch_dist', got '${field.value}'.`,
    ),
    condition(
      !isDcp || root.fsdp.value?.torch_fsdp2.value === true,
      'ckpt_format torch_dcp needs torch_fsdp2. Use torch_dist.',
      '--ckpt-format torch_dcp is only tested with FSDP.',
    ),
    condition(
      !isDcp || degrees.tp <= 1,
      `ckpt_format torch_dcp excludes tensor parallelism; tp is ${degrees.tp}. Use torch_dist.`,
      '--ckpt-format torch_dcp is not tested with megatron tensor parallelism.',
    ),
    condition(
      !isDcp || degrees.pp <= 1,
      `ckpt_format torch_dcp excludes a pipeline; pp is ${degrees.pp}. Use torch_dist.`,
      '--ckpt-format torch_dcp is not tested with megatron pipeline parallelism.',
    ),
    condition(
      field.value !== 'fsdp_dtensor' || root.fsdp.value?.enabled.value === true,
      'ckpt_format fsdp_dtensor needs Megatron-FSDP. Use torch_dist.',
      '--ckpt-format fsdp_dtensor is only tested with Megatron FSDP.',
    ),
  ];
}
