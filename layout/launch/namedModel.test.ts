import { expect, test } from 'vitest';
import { check } from '../check';
import { layoutYaml } from './importedLayout';
import { readLaunchFile } from './read';

const read = (file: string, text: string, others: Readonly<Record<string, string>> = {}) =>
  readLaunchFile(file, text, (path) => others[path] ?? null);
const sizes = (reading: ReturnType<typeof read>) =>
  Object.fromEntries(
    reading.values.filter(({ key }) => key.startsWith('model.')).map(({ key, value }) => [key, value]),
  );

const VERL = (model: string) =>
  `python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=${model} actor_rollout_ref.actor.strategy=megatron actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=8 trainer.nnodes=1\n`;

test('a public model that a job names has its sizes, with their origin', () => {
  const reading = read('run.sh', VERL('Qwen/Qwen3-30B-A3B'));
  expect(sizes(reading)).toMatchObject({
    'model.from': 'Qwen/Qwen3-30B-A3B',
    'model.num_layers': 48,
    'model.num_query_groups': 4,
    'model.num_experts': 128,
  });
  expect(layoutYaml(reading)).toContain(
    '# The sizes of Qwen/Qwen3-30B-A3B are those of ai-dynamo/aiconfigurator at 095f58a51c, aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-30B-A3B_config.json.',
  );
});

test('a config.json that lies where the job says wins over the table', () => {
  const config = { num_hidden_layers: 6, hidden_size: 64, num_attention_heads: 4, num_key_value_heads: 2 };
  const reading = read('run.sh', VERL('models/Qwen3-30B-A3B'), {
    'models/Qwen3-30B-A3B/config.json': JSON.stringify(config),
  });
  expect(sizes(reading)).toMatchObject({ 'model.num_layers': 6, 'model.num_query_groups': 2 });
  expect(reading.values.find(({ key }) => key === 'model.num_layers')?.source).toEqual({
    file: 'models/Qwen3-30B-A3B/config.json',
    line: 1,
  });
});

test('a job that says its layers describes its model itself', () => {
  const slime =
    'python3 train.py --actor-num-nodes 1 --hf-checkpoint /root/Qwen3-4B --num-layers 4 --hidden-size 64 --num-attention-heads 4\n';
  const { 'model.num_layers': layers, 'model.from': from } = sizes(read('run.sh', slime));
  expect([layers, from]).toEqual([4, undefined]);
});

test('a name that is not known gives one information in the check of its layout', () => {
  const said = check(layoutYaml(read('run.sh', VERL('/models/mine')))).diagnostics;
  expect(said.map(({ code, severity, message }) => [code, severity, message])).toContainEqual([
    'unknown-model',
    'information',
    'pp and tp are not checked: the layers of /models/mine are not known. Write num_layers and num_attention_heads.',
  ]);
});

test('torchtitan names a model and a flavor', () => {
  const toml =
    '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 8192\n[parallelism]\ntensor_parallel_degree = 16\n';
  expect(sizes(read('c.toml', toml))).toMatchObject({
    'model.from': 'torchtitan/llama3-8B',
    'model.num_query_groups': 8,
  });
});

test.each([
  ['ms-swift', 'run.sh', 'NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 2\n'],
  [
    'NeMo-RL',
    'a.yaml',
    'policy: {model_name: Qwen/Qwen3-8B, megatron_cfg: {enabled: true}}\ncluster: {gpus_per_node: 8}\n',
  ],
  ['axolotl', 'a.yaml', 'base_model: Qwen/Qwen3-8B\nmicro_batch_size: 1\n'],
  ['slime', 'run.sh', 'python3 train.py --actor-num-nodes 1 --hf-checkpoint /root/Qwen3-8B/ $MODEL_ARGS\n'],
])('%s names a model', (_, file, text) => {
  expect(sizes(read(file, text))).toMatchObject({ 'model.from': 'Qwen/Qwen3-8B', 'model.num_layers': 36 });
});

test.each([['vllm serve Qwen/Qwen3-8B -tp 4'], ['python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 4']])(
  'the model that a server loads has its sizes: %s',
  (command) => {
    expect(sizes(read('serve.sh', command))).toMatchObject({ 'model.from': 'Qwen/Qwen3-8B', 'model.num_layers': 36 });
  },
);

test('a recipe of Megatron Bridge takes the sizes of the model that it loads', () => {
  const recipe = `from megatron.bridge import AutoBridge
def pretrain():
    cfg = common()
    path = "Qwen/Qwen3-8B"
    cfg.model = AutoBridge.from_hf_pretrained(path).to_megatron_provider(load_weights=False)
    cfg.model.pipeline_model_parallel_size = 8
    return cfg
`;
  const reading = read('recipe.py', recipe);
  expect(sizes(reading)).toMatchObject({ 'model.from': 'Qwen/Qwen3-8B', 'model.num_layers': 36 });
  expect(check(`${layoutYaml(reading)}world_size: 8\n`).diagnostics.map(({ code }) => code)).toContain(
    'pipeline-layers',
  );
});
