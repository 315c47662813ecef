import type { Framework } from './framework';

/** What all frameworks that run Megatron Core have in common: its ranks, its process groups, no rules of their own. */
const ON_MEGATRON_CORE = { world: null, meshes: [], core: null } as const;

/** Frameworks that run Megatron Core without the argument parser of its training script. */
export const MEGATRON_BASED: readonly Framework[] = [
  {
    ...ON_MEGATRON_CORE,
    name: 'megatron-bridge',
    title: 'Megatron Bridge',
    revision: 'main',
    source: 'NVIDIA-NeMo/Megatron-Bridge',
    rules: { own: [], megatron: 'core' },
  },
  {
    ...ON_MEGATRON_CORE,
    name: 'accelerate',
    engine: 'megatron',
    title: 'accelerate',
    revision: '16cb6eb80d',
    source: 'huggingface/accelerate',
    rules: { own: [], megatron: 'core' },
  },
  {
    ...ON_MEGATRON_CORE,
    name: 'nemo-rl',
    title: 'NeMo-RL',
    revision: '7ea279abfb',
    source: 'NVIDIA-NeMo/RL',
    // cuts its micro-batches itself (nemo_rl/models/policy)
    rules: { own: [], megatron: 'core', except: ['global-batch'] },
  },
  {
    ...ON_MEGATRON_CORE,
    name: 'verl',
    title: 'verl',
    revision: 'b178a3cd56',
    source: 'volcengine/verl',
    rules: { own: [], megatron: 'core' },
  },
];
