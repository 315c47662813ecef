/** Rules that read what only Megatron-LM's argument parser checks (megatron/training/arguments.py, validate_args). */
const OF_THE_PARSER = ['batch-schedule', 'optimizer-overlap'];

/** Rules about how Megatron Core lays out experts, sequences and pipelines. */
const OF_MEGATRON_CORE = [
  ...OF_THE_PARSER,
  ...['expert-bias', 'expert-factorization', 'expert-overlap', 'expert-product', 'experts', 'token-dispatcher'],
  ...['pipeline-layers', 'pipeline-layout', 'pipeline-split', 'virtual-pipeline-layers', 'virtual-pipeline-window'],
  ...['sequence-divisible', 'sequence-parallel-needs-tp', 'sequence-parallel-with-experts', 'vpp-needs-pp'],
  ...['global-batch', 'recompute-options'],
];

/** Rules that do not hold where another framework than Megatron-LM starts the job, by the name under `launch.family`. */
const NOT_CHECKED: Readonly<Record<string, readonly string[]>> = {
  accelerate: OF_MEGATRON_CORE,
  axolotl: OF_MEGATRON_CORE,
  nanotron: OF_MEGATRON_CORE,
  torchtitan: OF_MEGATRON_CORE,
  'megatron-bridge': OF_THE_PARSER,
  // cuts its micro-batches itself (nemo_rl/models/policy)
  'nemo-rl': [...OF_THE_PARSER, 'global-batch'],
  verl: OF_THE_PARSER,
};

/** The codes of the rules that do not hold for a layout of a framework. */
export function notCheckedBy(family: string | undefined): ReadonlySet<string> {
  return new Set(family !== undefined && Object.hasOwn(NOT_CHECKED, family) ? NOT_CHECKED[family] : []);
}
