import { type Framework, parallelDegree, type Sizes, sized } from './framework';
import { MEGATRON_RANKS } from './megatron';

const NEMO_RL = { name: 'nemo-rl', title: 'NeMo-RL', revision: '7ea279abfb', source: 'NVIDIA-NeMo/RL' } as const;

const READS =
  'Recipes with what they inherit, and runs of `run_grpo.py` and its kin with overrides: degrees under `policy.megatron_cfg` or `policy.dtensor_cfg`, the engine under `policy.generation`, `num_prompts_per_step` and `num_generations_per_prompt`, padding of packed sequences, the teacher. The world is the cluster less what generation has for itself.';

/** Rules that hold whatever trains. */
const OWN: readonly string[] = ['nemo-rl-batch'];

/** NeMo-RL on Megatron Core. It cuts its micro-batches itself (nemo_rl/models/policy). */
export const nemoRl: Framework = {
  ...NEMO_RL,
  ...MEGATRON_RANKS,
  dividesWords: (_, sizes, world) => worldWords(sizes, world),
  rules: { own: OWN, megatron: 'core', except: ['global-batch'] },
  reads: READS,
  notes: [
    'With `tp` of 4 or more, `train_micro_batch_size` and `logprob_batch_size` that differ are refused for their accuracy; layouts have no key for the second.',
  ],
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: nemo-rl}\nparallelism: {tp: 2, cp: 2}\nsequence: {qkv_format: thd, sequence_parallel: true, pad_multiple: 8}\n',
};

/** NeMo-RL on DTensor: `Policy.__init__` in nemo_rl/models/policy/lm_policy.py. */
export const nemoRlDtensor: Framework = {
  ...NEMO_RL,
  engine: 'fsdp',
  world: {
    degrees: [parallelDegree('tp'), parallelDegree('cp'), parallelDegree('dp', 'rest')],
    predicts: worldWords,
    belowOne: () => null,
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['tp', 'cp', 'dp'].map(sized),
      groups: [
        { name: 'tp', axes: ['tp'], carries: 'activations of every layer' },
        { name: 'cp', axes: ['cp'], carries: 'keys and values of attention' },
        { name: 'dp', axes: ['dp'], carries: 'which ranks read which data' },
        { name: 'dp_cp', axes: ['cp', 'dp'], carries: 'shards of parameters and gradients' },
      ],
    },
  ],
  rules: { own: [...OWN, 'framework-world'], megatron: 'none' },
  reads: READS,
  notes: [],
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: nemo-rl, engine: fsdp}\nparallelism: {tp: 2, cp: 2}\n',
  core: null,
};

function worldWords({ tp = 1, cp = 1, pp = 1 }: Sizes, world: number): string {
  const product = tp * cp * pp;
  const ratio = world / product;
  return world < product
    ? `World size (${world}) is insufficient for the parallelism configuration. Required minimum world size: PP(${pp}) * CP(${cp}) * TP(${tp}) = ${product}. This would result in DP = ${world}/${product} = ${ratio.toFixed(3)}, but DP must be ≥ 1. Please either increase the number of GPUs/nodes or reduce the parallelism parameters.`
    : `World size (${world}) must be divisible by PP * CP * TP (${product}). The data parallel size (DP = world_size / (PP * CP * TP)) must be a positive integer. Current DP would be ${world}/${product} = ${ratio.toFixed(6)}, which is not an integer. Please adjust your cluster size or parallelism parameters.`;
}
