import { type Framework, REPLICATE, shardDegree, sized, ULYSSES } from './framework';
import { MEGATRON_RANKS } from './megatron';

const VERL = {
  name: 'verl',
  title: 'verl',
  revision: 'b178a3cd56',
  source: 'volcengine/verl',
} as const;

/** Rules that hold whatever trains. */
const OWN: readonly string[] = ['verl-batch'];

/** verl on Megatron Core: `validate_config` in verl/utils/config.py, verl/workers/megatron_workers.py. */
export const verl: Framework = { ...VERL, ...MEGATRON_RANKS, rules: { own: OWN, megatron: 'core' } };

/** verl on FSDP: `create_device_mesh` and the meshes of `ActorRolloutRefWorker` in verl/workers/fsdp_workers.py. */
export const verlFsdp: Framework = {
  ...VERL,
  engine: 'fsdp',
  world: {
    degrees: [REPLICATE, shardDegree('rest')],
    over: [ULYSSES],
    predicts: () => null,
    belowOne: () => null,
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['dp_shard', 'dp_replicate'].map(sized),
      groups: [
        { name: 'fsdp', axes: ['dp_shard'], carries: 'shards of parameters and gradients' },
        { name: 'ddp', axes: ['dp_replicate'], carries: 'gradients between replicas of the shards' },
      ],
    },
    {
      axes: [sized('sp'), ['dp', ({ world = 1, sp = 1 }) => world / sp]],
      groups: [
        { name: 'sp', axes: ['sp'], carries: 'queries, keys, values and outputs of attention: all-to-all' },
        { name: 'dp', axes: ['dp'], carries: 'which ranks read which data' },
      ],
      exists: ({ sp = 1 }) => sp > 1,
    },
  ],
  ulysses: {
    heads: (heads, sp) => `num_attention_heads ${heads} must be divisible by ulysses_sp_size ${sp}`,
    keyValueHeads: (heads, sp) =>
      `num_key_value_heads ${heads} must be divisible by ulysses_sp_size ${sp}or vise versa. Upon ulysses_sp_size % num_key_value_heads == 0,kv heads are repeated to ensure correctness.`,
  },
  rules: { own: [...OWN, 'framework-world', 'ulysses-size'], megatron: 'none' },
  core: null,
};
