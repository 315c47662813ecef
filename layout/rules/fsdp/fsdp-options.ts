import type { LayoutFacts } from '../../topology/facts';
import { takenOf } from '../../topology/taken';
import { byDefault, type Condition, conditionsOn, firstBroken } from '../conditions';
import { changeFix, removeFix, setFix } from '../fixes';
import { job, type Rule, VALIDATE_ARGS } from '../rule';

export const fsdpOptions: Rule = {
  code: 'fsdp-options',
  severity: 'error',
  title: 'Fully sharded data parallelism excludes these options',
  what: 'Megatron-FSDP is on with a checkpoint format other than `fsdp_dtensor`; PyTorch FSDP2 with a pipeline, experts in parallel, the distributed optimizer, tied embeddings or a checkpoint format of its own; or a checkpoint format asks for one of them and it is off.',
  why: 'Sharded parameters are saved by formats of their own, and each implementation supports some kinds of parallelism only.',
  failing: job(8, 'tp: 1', 'fsdp: {enabled: true}', 'checkpoint: {ckpt_format: torch_dist}'),
  sources: [VALIDATE_ARGS],
  *check(facts) {
    const conditions = [versions, torchFsdp2, megatronFsdp, formats].flatMap((part) => part(facts));
    yield* firstBroken(facts.text, conditions);
  },
};

/** The script reads no other version, whether it uses Megatron-FSDP or not. */
function versions({ root }: LayoutFacts): Condition[] {
  const field = root.fsdp.value?.megatron_fsdp_version;
  return [
    conditionsOn('megatron_fsdp_version', field)(
      field?.value === undefined || field.value <= 2,
      `There is no Megatron-FSDP version ${field?.value}. Use 1 or 2.`,
      null,
      ...[1, 2].map((n) => changeFix('megatron_fsdp_version', field, n)),
    ),
  ];
}

function torchFsdp2(facts: LayoutFacts): Condition[] {
  const { text, root, modules } = facts;
  const field = root.fsdp.value?.torch_fsdp2;
  const [module] = modules;
  if (field?.value !== true || !module?.degrees) {
    return [];
  }
  const { fields, degrees } = module;
  const { use_distributed_optimizer: distributed, gradient_accumulation_fusion: fusionField } =
    root.optimizer.value ?? {};
  const fusion = takenOf(facts, 'optimizer', 'gradient_accumulation_fusion');
  const { num_layers, untie_embeddings_and_output_weights: untied, params_dtype } = root.model.value ?? {};
  const format = root.checkpoint.value?.ckpt_format;
  const condition = conditionsOn('torch_fsdp2', field);
  return [
    condition(
      degrees.pp === 1,
      `torch_fsdp2 excludes a pipeline; pp is ${degrees.pp}. Use pp 1.`,
      '--use-torch-fsdp2 is not supported with pipeline parallelism',
      changeFix('pp', fields.pp, 1),
    ),
    condition(
      degrees.ep === 1,
      `torch_fsdp2 excludes expert parallelism; ep is ${degrees.ep}. Use ep 1.`,
      '--use-torch-fsdp2 is not supported with expert parallelism',
      changeFix('ep', fields.ep, 1),
    ),
    condition(
      distributed?.value !== true,
      'torch_fsdp2 shards the optimizer itself. Remove use_distributed_optimizer.',
      "--use-torch-fsdp2 is not supported with MCore's distributed optimizer",
      removeFix(text, 'use_distributed_optimizer', distributed),
    ),
    condition(
      byDefault(fusion, fusion.value !== true),
      `torch_fsdp2 excludes gradient_accumulation_fusion${fusion.isDefault ? ", Megatron-LM's default" : ''}. Write gradient_accumulation_fusion false.`,
      '--use-torch-fsdp2 is not supported with gradient accumulation fusion',
      changeFix('gradient_accumulation_fusion', fusionField, 'false'),
    ),
    condition(
      format?.value === undefined || format.value === 'torch_dist' || format.value === 'torch_dcp',
      `torch_fsdp2 needs ckpt_format torch_dist or torch_dcp, not ${format?.value}.`,
      '--use-torch-fsdp2 requires --ckpt-format torch_dist or torch_dcp',
      changeFix('ckpt_format', format, 'torch_dist'),
    ),
    condition(
      num_layers?.written !== true || untied?.value === true,
      'torch_fsdp2 needs an output layer with weights of its own. Write untie_embeddings_and_output_weights true under model.',
      '--use-torch-fsdp2 requires --untie-embeddings-and-output-weights',
      untied ? setFix(text, root.model.span, 'untie_embeddings_and_output_weights', untied, 'true') : null,
    ),
    condition(
      params_dtype?.value !== 'fp16',
      'torch_fsdp2 does not run with fp16. Use params_dtype bf16.',
      '--use-torch-fsdp2 not supported with fp16 yet',
      changeFix('params_dtype', params_dtype, 'bf16'),
    ),
  ];
}

function megatronFsdp(facts: LayoutFacts): Condition[] {
  const { text, root } = facts;
  const fsdp = root.fsdp.value;
  if (fsdp?.enabled.value !== true) {
    return [];
  }
  const { use_distributed_optimizer: distributed, optimizer } = root.optimizer.value ?? {};
  const field = root.checkpoint.value?.ckpt_format;
  const format = takenOf(facts, 'checkpoint', 'ckpt_format');
  const kind = optimizer?.value;
  const condition = conditionsOn('enabled', fsdp.enabled);
  return [
    condition(
      fsdp.megatron_fsdp_version.value !== 2 || distributed?.value !== true,
      'Megatron-FSDP version 2 shards the optimizer itself. Remove use_distributed_optimizer.',
      '--megatron-fsdp-version 2 is not compatible with --use-distributed-optimizer',
      removeFix(text, 'use_distributed_optimizer', distributed),
    ),
    condition(
      kind === undefined || kind === 'adam' || kind === 'sgd',
      `Megatron-FSDP does not run with optimizer ${kind}. Use adam or sgd.`,
      `Megatron-FSDP does not support the ${kind} optimizer yet.`,
      changeFix('optimizer', optimizer, 'adam'),
    ),
    conditionsOn(
      format.isDefault ? 'enabled' : 'ckpt_format',
      format.isDefault ? fsdp.enabled : (field ?? fsdp.enabled),
    )(
      byDefault(format, format.value === undefined || format.value === 'fsdp_dtensor'),
      `Megatron-FSDP cannot write ckpt_format ${format.isDefault ? `${format.value}, Megatron-LM's default` : format.value}. Use fsdp_dtensor.`,
      'Megatron-FSDP requires the `fsdp_dtensor` checkpointing format.',
      changeFix('ckpt_format', field, 'fsdp_dtensor'),
    ),
  ];
}

function formats({ root, modules }: LayoutFacts): Condition[] {
  const field = root.checkpoint.value?.ckpt_format;
  const degrees = modules[0]?.degrees;
  if (!field || !degrees) {
    return [];
  }
  const { tp, pp, gtpRemat, exptGtpRemat } = degrees;
  const format = field.value;
  const isDcp = format === 'torch_dcp';
  const condition = conditionsOn('ckpt_format', field, changeFix('ckpt_format', field, 'torch_dist'));
  return [
    condition(
      (gtpRemat <= 1 && exptGtpRemat <= 1) || format === undefined || format === 'torch' || format === 'torch_dist',
      `Generalized TP needs ckpt_format torch or torch_dist, not ${format}.`,
      `GTP supports only --ckpt-format 'torch' (legacy) or 'torch_dist', got '${format}'.`,
    ),
    condition(
      !isDcp || root.fsdp.value?.torch_fsdp2.value === true,
      'ckpt_format torch_dcp needs torch_fsdp2. Use torch_dist.',
      '--ckpt-format torch_dcp is only tested with FSDP.',
    ),
    condition(
      !isDcp || tp <= 1,
      `ckpt_format torch_dcp excludes tensor parallelism; tp is ${tp}. Use torch_dist.`,
      '--ckpt-format torch_dcp is not tested with megatron tensor parallelism.',
    ),
    condition(
      !isDcp || pp <= 1,
      `ckpt_format torch_dcp excludes a pipeline; pp is ${pp}. Use torch_dist.`,
      '--ckpt-format torch_dcp is not tested with megatron pipeline parallelism.',
    ),
    condition(
      format !== 'fsdp_dtensor' || root.fsdp.value?.enabled.value === true,
      'ckpt_format fsdp_dtensor needs Megatron-FSDP. Use torch_dist.',
      '--ckpt-format fsdp_dtensor is only tested with Megatron FSDP.',
    ),
  ];
}
