import { EXPERTS, type Framework, parallelDegree, REPLICATE, shardDegree, sized } from './framework';

/** torchtitan: `ParallelDims` in torchtitan/distributed/parallel_dims.py. */
export const torchtitan: Framework = {
  name: 'torchtitan',
  title: 'torchtitan',
  revision: 'b5bcd76c66',
  source: 'pytorch/torchtitan',
  world: {
    degrees: [REPLICATE, shardDegree('rest'), parallelDegree('cp'), parallelDegree('tp'), parallelDegree('pp')],
    over: [EXPERTS],
    predicts: ({ dp_replicate, dp_shard = 1, cp, tp, pp }, world) =>
      dp_shard < 1
        ? // an assertion without a message, where nothing is left to shard over
          ''
        : `Invalid parallel dims: dp_replicate(${dp_replicate}) * dp_shard(${dp_shard}) * cp(${cp}) * tp(${tp}) * pp(${pp}) != WORLD_SIZE(${world})`,
    belowOne: (small) =>
      Object.keys(small).some((name) => name !== 'dp_shard')
        ? 'Parallelism degree should be >= 1, except for dp_shard'
        : 'dp_shard must -1 or >=1.',
    experts: {
      count: ({ dp_shard = 1, cp = 1, tp = 1 }) => dp_shard * cp * tp,
      axes: ['dp_shard', 'cp', 'tp'],
      predicts: (ep, ranks) => `expert_parallel_degree (${ep}) must divide dp_shard * cp * tp (${ranks})`,
    },
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['tp', 'cp', 'dp_shard', 'dp_replicate', 'pp'].map(sized),
      groups: [
        { name: 'pp', axes: ['pp'], carries: 'activations and their gradients between stages' },
        { name: 'dp_replicate', axes: ['dp_replicate'], carries: 'gradients of replicated parameters' },
        {
          name: 'dp_shard',
          axes: ['dp_shard'],
          carries: 'shards of parameters and gradients without context parallelism',
        },
        { name: 'fsdp', axes: ['dp_shard', 'cp'], carries: 'shards of parameters and gradients' },
        { name: 'cp', axes: ['cp'], carries: 'keys and values of attention' },
        { name: 'tp', axes: ['tp'], carries: 'activations of every layer' },
        { name: 'batch', axes: ['dp_shard', 'dp_replicate'], carries: 'which ranks read which data' },
        { name: 'loss', axes: ['cp', 'dp_shard', 'dp_replicate'], carries: 'the loss' },
      ],
    },
    {
      axes: [
        ['ep', ({ ep = 1 }) => ep],
        ['efsdp', ({ dp_shard = 1, cp = 1, tp = 1, ep = 1 }) => (dp_shard * cp * tp) / ep],
        sized('dp_replicate'),
        sized('pp'),
      ],
      groups: [
        { name: 'ep', axes: ['ep'], carries: 'tokens to their experts' },
        { name: 'efsdp', axes: ['efsdp'], carries: 'shards of the parameters and gradients of experts' },
      ],
      exists: ({ ep = 1 }) => ep > 1,
    },
  ],
  heads: {
    // the configuration function may change those of the flavor that it starts from
    areNominal: true,
    heads: (heads, tp) => `tensor_parallel_degree (${tp}) must divide n_heads (${heads}).`,
    keyValueHeads: (heads, tp) => `tensor_parallel_degree (${tp}) must divide n_kv_heads (${heads}).`,
  },
  reads:
    'Commands that start `torchtitan.train` or `run_train.sh`, with their TOML file or the function of a `config_registry.py`, overridden by `--parallelism.*` flags: the degrees under `[parallelism]`, the schedule of the pipeline, lengths and batches under `[training]`, the flavor of the model. `NGPU` is the world of `run_train.sh`, 8 where it is not set.',
  notes: [
    'Before the check of heads existed, `tp` above the key-value heads failed in a reshape of the first layer.',
    'Fewer micro-batches than stages run, with a warning of torchtitan alone; the pipeline stands idle meanwhile.',
    '`expert_tensor_parallel_degree` of older versions is gone: experts have no tensor parallelism of their own, whatever a file says.',
  ],
  example:
    'layout: 1\nname: Llama 3 8B, hybrid sharding\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: torchtitan}\nparallelism: {tp: 2, cp: 2}\nfsdp: {data_parallel_replicate_degree: 2}\n',
  rules: {
    own: ['framework-world', 'framework-experts', 'framework-heads', 'torchtitan-sequence', 'torchtitan-pipeline'],
    megatron: 'none',
  },
  checkpoint: {
    states: {
      outcome: 'loads',
      because: 'torch.distributed.checkpoint reshards DTensors over any mesh.',
      predicts: null,
      ways: [],
      source: 'pytorch/torchtitan docs/checkpoint.md',
    },
    dataOfOtherDp: {
      outcome: 'lost',
      because: 'the state of the data loader belongs to the number of data-parallel ranks.',
      predicts: 'dp_degree is inconsistent before and after checkpoint, dataloader resharding is not supported yet.',
      ways: [
        {
          what: 'Leave the data loader out of what is loaded.',
          command: '--checkpoint.exclude_from_loading dataloader',
        },
      ],
      source: 'pytorch/torchtitan torchtitan/components/dataloader.py ParallelAwareDataloader',
    },
  },
  core: null,
};
