import type { Framework } from './framework';

/** axolotl: trains with transformers over torch FSDP or DeepSpeed. */
export const axolotl: Framework = {
  name: 'axolotl',
  title: 'axolotl',
  revision: '067b021c8',
  source: 'axolotl-ai-cloud/axolotl',
  world: null,
  meshes: [],
  rules: { own: [], megatron: 'none' },
  reads:
    'A configuration YAML, alone or behind `axolotl train`: degrees, shard and replica sizes, batch and length. The launcher gives the world.',
  notes: ['axolotl hands its degrees to accelerate, whose own rules are not applied here.'],
  example: 'layout: 1\nworld_size: 8\nlaunch: {family: axolotl}\nparallelism: {tp: 2}\n',
  core: null,
};
