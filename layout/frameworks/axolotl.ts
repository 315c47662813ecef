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
  core: null,
};
