import { type Framework, REPLICATE, shardDegree, sized } from './framework';
import { MEGATRON_RANKS } from './megatron';

const SWIFT = { name: 'ms-swift', title: 'ms-swift', revision: '3602360a56', source: 'modelscope/ms-swift' } as const;

/** ms-swift on Megatron Core: swift/megatron/arguments/megatron_args.py. */
export const swift: Framework = { ...SWIFT, ...MEGATRON_RANKS, rules: { own: [], megatron: 'core' } };

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
  core: null,
};
