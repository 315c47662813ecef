import { EXPERTS, type Framework, parallelDegree, type Sizes, sized, ULYSSES } from './framework';

/** Whether Ulysses takes the place of tensor and pipeline parallelism, beside which it is refused. */
const isUlysses = ({ sp = 1 }: Sizes): boolean => sp > 1;

/**
 * Megatron-DeepSpeed, Microsoft's fork of Megatron-LM: `validate_args` in megatron/arguments.py and `initialize_model_parallel` in megatron/core/parallel_state.py;
 * the groups of experts are DeepSpeed's (`_get_expert_parallel_ranks` in deepspeed/utils/groups.py at edaa722126).
 */
export const megatronDeepspeed: Framework = {
  name: 'megatron-lm',
  engine: 'deepspeed',
  title: 'Megatron-DeepSpeed',
  revision: '4efb479d53',
  source: 'deepspeedai/Megatron-DeepSpeed',
  world: {
    degrees: [parallelDegree('tp'), ULYSSES, parallelDegree('dp', 'rest'), parallelDegree('pp')],
    over: [EXPERTS],
    predicts: ({ tp = 1, pp = 1, sp = 1 }, world) => {
      // larger sizes are silently lowered to what the world has
      if (tp > world || (world % tp === 0 && pp > world / tp)) {
        return null;
      }
      return world % tp === 0
        ? `world size (${world}) is not divisible by tensor parallel size (${tp}) times pipeline parallel size (${pp}) times seqence parallel size (${sp})`
        : `world size (${world}) is not divisible by tensor model parallel size (${tp})`;
    },
    belowOne: () => null,
    experts: {
      count: ({ dp = 1, sp = 1 }) => dp * sp,
      axes: ['dp', 'sp'],
      predicts: (ep, ranks) => `${ranks} is not divisible by ${ep}`,
    },
    expertTp: 'tp',
  },
  meshes: [
    {
      axes: ['tp', 'dp', 'pp'].map(sized),
      groups: [
        { name: 'tp', axes: ['tp'], carries: 'activations of every layer' },
        { name: 'dp', axes: ['dp'], carries: 'gradients, and with ZeRO their shards' },
        { name: 'pp', axes: ['pp'], carries: 'activations and their gradients between stages' },
        { name: 'mp', axes: ['tp', 'pp'], carries: 'the norm of gradients' },
      ],
      exists: (sizes) => !isUlysses(sizes),
    },
    {
      axes: ['sp', 'dp'].map(sized),
      groups: [
        { name: 'sp', axes: ['sp'], carries: 'queries, keys, values and outputs of attention: all-to-all' },
        { name: 'dp', axes: ['dp'], carries: 'which ranks read which data' },
        { name: 'sp_dp', axes: ['sp', 'dp'], carries: 'gradients, and with ZeRO their shards' },
      ],
      exists: isUlysses,
    },
    {
      axes: [sized('tp'), sized('ep'), ['ep_dp', ({ dp = 1, sp = 1, ep = 1 }) => (dp * sp) / ep], sized('pp')],
      groups: [
        { name: 'ep', axes: ['ep'], carries: 'tokens to their experts' },
        { name: 'ep_dp', axes: ['ep_dp'], carries: 'gradients of experts' },
      ],
    },
  ],
  ulysses: {
    heads: (heads, sp) => `Number of heads (${heads}) must be divisible by the sequence parallel size (${sp})!`,
    keyValueHeads: null,
  },
  heads: { heads: (heads, tp) => `${heads} is not divisible by ${tp}`, keyValueHeads: null },
  reads:
    "Commands of Megatron-LM's scripts with flags of Megatron-DeepSpeed (`--deepspeed`, `--zero-stage`, `--ds-sequence-parallel-size`, `--moe-expert-parallel-size`), and `zero_optimization.stage` of the file that `--deepspeed_config` names. `deepspeed --num_nodes --num_gpus` gives the world.",
  notes: [
    '`tp` and `pp` that are larger than the world are lowered to it without a word: the job trains with other sizes than its script says.',
    '`deepspeed --hostfile` alone does not say how many GPUs there are; the world is then unknown.',
  ],
  example:
    'layout: 1\nworld_size: 16\nlaunch: {family: megatron-lm, engine: deepspeed}\nparallelism: {tp: 2, pp: 2, ep: 2}\noptimizer: {zero_stage: 1}\n',
  rules: {
    own: ['framework-world', 'framework-experts', 'framework-heads', 'ulysses-size', 'deepspeed-pipeline'],
    megatron: 'none',
    also: ['global-batch'],
  },
  core: null,
};
