import { describe, expect, test } from 'vitest';
import { exportLayout, readLaunchFile } from '../launch';
import { layoutFileValues } from '../launch/writtenValues';

type Values = Readonly<Record<string, unknown>>;

/** What is known of a launch file, by the keys of a layout. */
function read(file: string, text: string, others: Readonly<Record<string, string>> = {}): Values {
  const { values } = readLaunchFile(file, text, (path) => others[path] ?? null);
  return Object.fromEntries(values.flatMap(({ key, value }) => (value === null ? [] : [[key, value]])));
}

const noted = (file: string, text: string): readonly string[] => readLaunchFile(file, text, () => null).notes;

const criticOf = (values: Values) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) =>
      key.startsWith('phases.critic.') ? [[key.slice(14), value]] : [],
    ),
  );

const VERL = 'python3 -m verl.trainer.main_ppo trainer.nnodes=2 trainer.n_gpus_per_node=8 data.train_batch_size=256';

describe('a critic of verl', () => {
  test('on FSDP, with batches of its own', () => {
    const values = read(
      'run.sh',
      `${VERL} algorithm.adv_estimator=gae critic.strategy=fsdp2 critic.ppo_micro_batch_size_per_gpu=4 critic.ppo_mini_batch_size=128 critic.forward_micro_batch_size_per_gpu=8 critic.ulysses_sequence_parallel_size=2\n`,
    );
    expect(criticOf(values)).toEqual({
      engine: 'fsdp',
      micro_batch_size: 4,
      mini_batch_size: 128,
      forward_micro_batch_size: 8,
      ulysses: 2,
    });
  });

  test('on Megatron Core, with degrees of its own', () => {
    const values = read(
      'run.sh',
      `${VERL} --config-name=ppo_megatron_trainer.yaml critic.megatron.tensor_model_parallel_size=4 critic.ppo_micro_batch_size_per_gpu=2\n`,
    );
    expect(criticOf(values)).toMatchObject({ engine: 'megatron', tp: 4, pp: 1, micro_batch_size: 2, ep: 1 });
  });

  test('that the estimator does not need is no phase, and is said', () => {
    const text = `${VERL} algorithm.adv_estimator=grpo critic.ppo_micro_batch_size_per_gpu=2\n`;
    expect(criticOf(read('run.sh', text))).toEqual({});
    expect(noted('run.sh', text)).toContain(
      'There is no critic: what critic.* sets takes no effect with this adv_estimator.',
    );
  });

  test('that is enabled whatever the estimator', () => {
    const values = read(
      'run.sh',
      `${VERL} algorithm.adv_estimator=grpo critic.enable=True critic.use_dynamic_bsz=True\n`,
    );
    expect(criticOf(values)).toEqual({ engine: 'fsdp', dynamic_batch: true });
  });
});

describe('a critic of slime', () => {
  const run = (more: string) =>
    `python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --colocate ${more}\n`;

  test('has the degrees of the actor', () => {
    expect(criticOf(read('run.sh', run('--advantage-estimator ppo')))).toMatchObject({
      engine: 'megatron',
      tp: 4,
      pp: 2,
    });
    expect(criticOf(read('run.sh', run('--advantage-estimator grpo')))).toEqual({});
  });

  test('has those of the file of its roles, and so has the actor', () => {
    const roles =
      'megatron:\n  - {name: default, role: actor, overrides: {pipeline_model_parallel_size: 1}}\n  - {name: default, role: critic, overrides: {tensor_model_parallel_size: 2}}\n';
    const values = read('run.sh', run('--advantage-estimator ppo --megatron-config-path roles.yaml'), {
      'roles.yaml': roles,
    });
    expect(criticOf(values)).toMatchObject({ tp: 2, pp: 2 });
    expect(values).toMatchObject({ 'parallelism.tp': 4, 'parallelism.pp': 1 });
  });

  test('of a file that is not there is not known', () => {
    const values = read('run.sh', run('--advantage-estimator ppo --megatron-config-path roles.yaml'));
    expect(values['phases.critic.cp']).toBeUndefined();
  });
});

test('the value model of a PPO recipe of NeMo-RL is its critic', () => {
  const recipe = (engine: string) => `ppo: {num_prompts_per_step: 32, num_generations_per_prompt: 16}
policy:
  train_global_batch_size: 512
  max_total_sequence_length: 4096
  dtensor_cfg: {enabled: true, tensor_parallel_size: 2, context_parallel_size: 1}
  generation: {backend: vllm, vllm_cfg: {tensor_parallel_size: 2, max_model_len: 2048}}
value:
  train_global_batch_size: 256
  train_micro_batch_size: 2
  ${engine}
cluster: {num_nodes: 1, gpus_per_node: 8}
`;
  const dtensor = read('r.yaml', recipe('dtensor_cfg: {enabled: true, tensor_parallel_size: 4}'));
  expect(criticOf(dtensor)).toEqual({ engine: 'fsdp', global_batch_size: 256, micro_batch_size: 2, tp: 4 });
  expect(dtensor).toMatchObject({ 'rl.prompts_per_step': 32, 'phases.rollout.max_model_len': 2048 });
  const megatron = read('r.yaml', recipe('megatron_cfg: {enabled: true, pipeline_model_parallel_size: 2}'));
  expect(criticOf(megatron)).toMatchObject({ engine: 'megatron', pp: 2 });
});

test('a role that is merged from another is read whole', () => {
  const values = read(
    'recipe.yaml',
    `distillation: {num_prompts_per_step: 8}
policy: &POLICY
  megatron_cfg: {enabled: true, tensor_model_parallel_size: 2, pipeline_model_parallel_size: 1}
teacher:
  <<: *POLICY
  model_name: Qwen/Qwen3-32B
  "<<": plain
cluster: {num_nodes: 1, gpus_per_node: 8}
`,
  );
  expect(values).toMatchObject({ 'phases.teacher.tp': 2, 'rl.prompts_per_step': 8 });
});

test('adapters of verl, by the engine that trains', () => {
  expect(read('run.sh', `${VERL} actor_rollout_ref.model.lora_rank=32\n`)).toMatchObject({ 'lora.rank': 32 });
  expect(read('run.sh', `${VERL} actor_rollout_ref.model.lora_rank=0\n`)).not.toHaveProperty('lora.rank');
});

describe('GPUs that NeMo-RL gives to generation', () => {
  const recipe = (nodes: number, resources: string) => `policy:
  megatron_cfg: {enabled: true, tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1}
  generation: {backend: vllm, vllm_cfg: {tensor_parallel_size: 2}, colocated: {enabled: false, resources: {${resources}}}}
cluster: {num_nodes: ${nodes}, gpus_per_node: 8}
`;
  test.each([
    ['of one node', 1, 'gpus_per_node: 4, num_nodes: null', { world_size: 4, 'rl.rollout_gpus': 4 }, null],
    ['of other nodes', 3, 'gpus_per_node: 8, num_nodes: 1', { world_size: 16, 'rl.rollout_gpus': 8 }, null],
    [
      'all of one node',
      1,
      'gpus_per_node: 8, num_nodes: 1',
      { 'cluster.gpus_per_node': 0 },
      'No enough GPUs for training',
    ],
    ['all nodes', 2, 'gpus_per_node: 8, num_nodes: 2', { 'cluster.nodes': 0 }, 'requires train_nodes > 0'],
    ['parts of nodes', 2, 'gpus_per_node: 4, num_nodes: 1', {}, 'equal to cluster.gpus_per_node'],
  ])('%s', (_, nodes, resources, expected, refusal) => {
    const text = recipe(nodes, resources);
    expect(read('r.yaml', text)).toMatchObject(expected);
    expect(noted('r.yaml', text).filter((note) => note.startsWith('NeMo-RL stops'))).toEqual(
      refusal === null ? [] : [expect.stringContaining(refusal)],
    );
  });
});

describe('a reinforcement-learning layout is what its export is imported as', () => {
  const layouts: Readonly<Record<string, readonly ['verl' | 'nemo-rl', string]>> = {
    'verl on FSDP with a critic': [
      'verl',
      `launch: {family: verl, engine: fsdp}
cluster: {nodes: 2, gpus_per_node: 8}
parallelism: {ulysses: 2}
batch: {micro_batch_size: 2}
fsdp: {data_parallel_shard_degree: 8, data_parallel_replicate_degree: 2}
rl: {prompts_per_step: 256, samples_per_prompt: 4, mini_batch_size: 64, max_prompt_length: 512, max_response_length: 1024}
phases:
  rollout: {engine: vllm, tp: 2, max_model_len: 2048, memory_share: 0.6}
  critic: {engine: fsdp, ulysses: 4, micro_batch_size: 4, forward_micro_batch_size: 8, mini_batch_size: 128}
`,
    ],
    'verl on Megatron Core with a critic': [
      'verl',
      `launch: {family: verl}
cluster: {nodes: 2, gpus_per_node: 8}
parallelism: {tp: 2, pp: 2}
batch: {micro_batch_size: 2}
rl: {prompts_per_step: 256, samples_per_prompt: 4, mini_batch_size: 64}
phases:
  rollout: {engine: sglang, tp: 4}
  critic: {engine: megatron, tp: 4, pp: 1, micro_batch_size: 4}
`,
    ],
    'NeMo-RL on DTensor with a critic': [
      'nemo-rl',
      `launch: {family: nemo-rl, engine: fsdp}
cluster: {nodes: 2, gpus_per_node: 8}
parallelism: {tp: 2, cp: 2}
batch: {global_batch_size: 512, micro_batch_size: 4}
rl: {prompts_per_step: 32, samples_per_prompt: 16}
phases:
  rollout: {engine: vllm, tp: 2, max_model_len: 4096, memory_share: 0.6}
  critic: {engine: fsdp, tp: 4, global_batch_size: 256, micro_batch_size: 2}
`,
    ],
    'NeMo-RL on Megatron Core with packed sequences and a teacher': [
      'nemo-rl',
      `launch: {family: nemo-rl}
cluster: {nodes: 2, gpus_per_node: 8}
parallelism: {tp: 2, cp: 2}
sequence: {qkv_format: thd, sequence_parallel: true, pad_multiple: 8}
phases:
  rollout: {engine: sglang, tp: 2, max_model_len: 4096}
  teacher: {tp: 4, cp: 1}
`,
    ],
  };

  test.each(Object.entries(layouts))('%s', (_, [target, body]) => {
    const text = `layout: 1\n${body}`;
    const { text: exported, left } = exportLayout(text, target);
    expect(left).toEqual([]);
    const imported = read(target === 'verl' ? 'run.sh' : 'recipe.yaml', exported);
    const written = [...(layoutFileValues('', text) ?? [])].flatMap(([key, { value }]) =>
      key === 'layout' || key.startsWith('launch.') ? [] : [[key, value] as const],
    );
    expect(imported).toMatchObject(Object.fromEntries(written));
  });
});
