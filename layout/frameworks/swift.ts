import { type Framework, REPLICATE, shardDegree, sized } from './framework';
import { MEGATRON_RANKS } from './megatron';

const SWIFT = { name: 'ms-swift', title: 'ms-swift', revision: '3602360a56', source: 'modelscope/ms-swift' } as const;

/** ms-swift on Megatron Core: swift/megatron/arguments/megatron_args.py. */
export const swift: Framework = {
  ...SWIFT,
  ...MEGATRON_RANKS,
  rules: { own: ['swift-batch'], megatron: 'core' },
  reads:
    "Commands `megatron sft`, `pt`, `rlhf` with flags or a YAML file: Megatron-LM's options under their names, `NNODES` and `NPROC_PER_NODE` of the environment, the degrees of vLLM or SGLang beside it.",
  notes: [],
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: ms-swift}\nparallelism: {tp: 2, ep: 4, expt_tp: 1}\n',
};

/** ms-swift on the trainer of transformers, over torch DDP, FSDP or DeepSpeed: every rank is a replica or a shard. */
export const swiftTransformers: Framework = {
  ...SWIFT,
  engine: 'transformers',
  world: {
    degrees: [REPLICATE, shardDegree('rest')],
    predicts: () => null,
    belowOne: () => null,
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['dp_shard', 'dp_replicate'].map(sized),
      groups: [{ name: 'dp', axes: ['dp_shard', 'dp_replicate'], carries: 'gradients, and shards of parameters' }],
    },
  ],
  rules: { own: ['framework-world'], megatron: 'none' },
  reads:
    'Commands `swift sft`, `pt`, `rlhf` with flags or a YAML file: the micro-batch, and `NNODES` and `NPROC_PER_NODE` of the environment.',
  notes: ['What is sharded over the ranks stands in a configuration of FSDP or DeepSpeed, which is not read.'],
  example: 'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: ms-swift, engine: transformers}\n',
  core: null,
};
