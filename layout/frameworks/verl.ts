import { type Framework, REPLICATE, shardDegree, sized, ULYSSES } from './framework';
import { MEGATRON_RANKS } from './megatron';

const VERL = {
  name: 'verl',
  title: 'verl',
  revision: 'b178a3cd56',
  source: 'volcengine/verl',
} as const;

const READS =
  "Commands of verl's trainers with Hydra overrides, over the configuration that `--config-name` names, and a saved `config.yaml`: degrees of actor, reference and critic, the engine of the rollout with its degrees and its share of the memory, batches (`train_batch_size`, `rollout.n`, `ppo_mini_batch_size`) and lengths. `trainer.nnodes` times `trainer.n_gpus_per_node` is the world, 1 times 8 where they are not set.";

/** Rules that hold whatever trains. */
const OWN: readonly string[] = ['verl-batch'];

/** verl on Megatron Core: `validate_config` in verl/utils/config.py, verl/workers/megatron_workers.py. */
export const verl: Framework = {
  ...VERL,
  ...MEGATRON_RANKS,
  rules: { own: OWN, megatron: 'core' },
  reads: READS,
  notes: [
    'With `use_dynamic_bsz` most relations of batches are not compared; the controller still cuts every batch into equal parts.',
  ],
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: verl}\nparallelism: {tp: 2, pp: 2}\nbatch: {micro_batch_size: 2}\nphases: {rollout: {engine: vllm, tp: 4}}\nrl: {prompts_per_step: 256, samples_per_prompt: 8, mini_batch_size: 64}\n',
};

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
  reads: READS,
  notes: [
    'An `fsdp_size` that does not divide the world leaves GPUs out of the mesh, and torch stops when it makes it.',
  ],
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: verl, engine: fsdp}\nparallelism: {ulysses: 2}\nfsdp: {data_parallel_replicate_degree: 2, data_parallel_shard_degree: 8}\nphases: {rollout: {engine: vllm, tp: 2}}\nrl: {prompts_per_step: 256, samples_per_prompt: 8, mini_batch_size: 64}\n',
  core: null,
};
