import type { CheckpointFact, CheckpointSizes, Framework } from './framework';

/** What all frameworks that run Megatron Core have in common: its ranks, its process groups, no rules of their own. */
export const MEGATRON_RANKS = { world: null, meshes: [] } as const;

const BRIDGE_CHECKPOINTING = 'NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/checkpointing.py';

const sameStages = (saved: CheckpointSizes, now: CheckpointSizes): boolean =>
  saved.tp === now.tp && saved.pp === now.pp;

/** How many data-parallel ranks have random states of their own; 1 where they share them. */
const ranksWithStates = ({ ep, dp, cp }: CheckpointSizes): number => (ep > 1 ? dp * cp : 1);

/** Where Megatron Bridge decides otherwise than Megatron-LM. */
const BRIDGE_CHECKPOINT: readonly CheckpointFact[] = [
  {
    parts: ['rng'],
    changed: ['dp', 'cp', 'ep'],
    when: (saved, now) => sameStages(saved, now) && ranksWithStates(saved) !== ranksWithStates(now),
    outcome: 'after',
    because:
      'with ep above 1 every data-parallel rank has states of its own, and the load ends where they are missing.',
    ways: [{ what: 'Load without the random states.', command: 'checkpoint.load_rng=false' }],
    source: `${BRIDGE_CHECKPOINTING} get_rng_state`,
  },
  {
    parts: ['rerun'],
    changed: ['world', 'dp'],
    when: sameStages,
    outcome: 'loads',
    because: 'tp and pp stay, which is all that is asked.',
    source: `${BRIDGE_CHECKPOINTING} _load_checkpoint_from_path`,
  },
];

/** Frameworks that run Megatron Core without the argument parser of its training script. */
export const MEGATRON_BASED: readonly Framework[] = [
  {
    ...MEGATRON_RANKS,
    name: 'slime',
    title: 'slime',
    revision: '624b824a89',
    source: 'THUDM/slime',
    core: { version: 'core_r0.16', source: 'MEGATRON_COMMIT of docker/Dockerfile, with patches' },
    weightUpdates: {
      apart: 'stages',
      source:
        '`UpdateWeightFromDistributed` and `UpdateWeightFromTensor` in slime/backends/megatron_utils/update_weight (THUDM/slime at 624b824a89)',
    },
    // slime hands its flags to Megatron-LM's own parser
    // and packs samples of any length, whatever its seq_length
    rules: { own: ['slime-batch'], megatron: 'script', except: ['rollout-length'] },
    reads:
      "Commands with slime's flags, which are Megatron-LM's and its own: `--actor-num-nodes` times `--actor-num-gpus-per-node` is the world; engines of SGLang with their GPUs, share of memory and `--colocate`; batches and lengths of rollouts. Also its converter `tools/convert_hf_to_torch_dist.py`, which makes `pp` the world where `pp` is 1.",
    notes: [
      'Samples that are no whole global batch are dropped without a word: [slime-batch](../rules/slime-batch.md).',
      'Without `--colocate`, a cluster with fewer GPUs than trainer and engines take together waits for ever: [rollout-gpus](../rules/rollout-gpus.md).',
    ],
    checkpoint: [
      {
        parts: ['data'],
        outcome: 'loads',
        because: 'the place in the prompts is saved with each rollout, and no layout changes it.',
        source: 'THUDM/slime slime/rollout/data_source.py RolloutDataSource',
      },
    ],
    example:
      'layout: 1\nworld_size: 8\nlaunch: {family: slime}\nparallelism: {tp: 2}\nbatch: {global_batch_size: 256}\nrl: {prompts_per_step: 32, samples_per_prompt: 8, colocated: true}\nphases: {rollout: {engine: sglang, tp: 2}}\n',
  },
  {
    ...MEGATRON_RANKS,
    name: 'megatron-bridge',
    title: 'Megatron Bridge',
    revision: '067f987df0',
    source: 'NVIDIA-NeMo/Megatron-Bridge',
    core: { version: 'main', source: 'the submodule 3rdparty/Megatron-LM at 2a75ac12c5' },
    rules: { own: [], megatron: 'core' },
    reads:
      'Recipes in Python, configurations in YAML and commands with overrides: the fields of its providers and configurations under their names.',
    checkpoint: BRIDGE_CHECKPOINT,
    checkpointOptions: {
      '--dist-ckpt-optim-fully-reshardable': 'checkpoint.dist_ckpt_optim_fully_reshardable=true',
      '--no-load-optim': 'checkpoint.load_optim=false',
      '--no-load-rng': 'checkpoint.load_rng=false',
    },
    optimizerMismatch: (sharding) =>
      `not supported for DistributedOptimizer with sharding type ${sharding}. Please use \`checkpoint_config.fully_parallel_save=True\` for checkpoint saving.`,
    example: 'layout: 1\nworld_size: 16\nlaunch: {family: megatron-bridge}\nparallelism: {tp: 2, pp: 2}\n',
  },
  {
    ...MEGATRON_RANKS,
    name: 'mindspeed',
    title: 'MindSpeed-LLM',
    revision: 'c77308a1',
    source: 'Ascend/MindSpeed-LLM',
    core: { version: 'core_r0.12', source: 'docs/zh/pytorch/training/install_guide.md' },
    rules: { own: [], megatron: 'script' },
    reads:
      "Commands of `pretrain_gpt.py`, `posttrain_gpt.py` and their kin with Megatron-LM's flags, on Ascend NPUs; `--context-parallel-algo` where Megatron-LM has the same way; the YAML and dotted flags of the FSDP2 trainer.",
    notes: [
      '`--num-layer-list` decides the layers of each stage, for which layouts have no key; import says so.',
      'Ulysses repeats key-value heads before its exchange, so the query groups need not divide among the ranks: [cp-heads](../rules/cp-heads.md) asks for the attention heads alone.',
    ],
    example: 'layout: 1\nworld_size: 16\nlaunch: {family: mindspeed}\nparallelism: {tp: 8, pp: 2}\n',
  },
  {
    ...MEGATRON_RANKS,
    name: 'accelerate',
    engine: 'megatron',
    title: 'accelerate',
    revision: '16cb6eb80d',
    source: 'huggingface/accelerate',
    rules: { own: [], megatron: 'core' },
    reads: 'A configuration YAML with `megatron_lm_config`: its degrees are those of Megatron-LM.',
    example: 'layout: 1\nworld_size: 8\nlaunch: {family: accelerate, engine: megatron}\nparallelism: {tp: 2, pp: 2}\n',
  },
];
