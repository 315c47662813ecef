import type { Framework } from './framework';

/** What all frameworks that run Megatron Core have in common: its ranks, its process groups, no rules of their own. */
export const MEGATRON_RANKS = { world: null, meshes: [], core: null } as const;

/** Frameworks that run Megatron Core without the argument parser of its training script. */
export const MEGATRON_BASED: readonly Framework[] = [
  {
    ...MEGATRON_RANKS,
    name: 'slime',
    title: 'slime',
    revision: '624b824a89',
    source: 'THUDM/slime',
    // slime hands its flags to Megatron-LM's own parser
    rules: { own: ['slime-batch'], megatron: 'script' },
  },
  {
    ...MEGATRON_RANKS,
    name: 'megatron-bridge',
    title: 'Megatron Bridge',
    revision: 'main',
    source: 'NVIDIA-NeMo/Megatron-Bridge',
    rules: { own: [], megatron: 'core' },
  },
  {
    ...MEGATRON_RANKS,
    name: 'accelerate',
    engine: 'megatron',
    title: 'accelerate',
    revision: '16cb6eb80d',
    source: 'huggingface/accelerate',
    rules: { own: [], megatron: 'core' },
  },
];
