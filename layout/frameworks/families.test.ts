// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are shell scripts and configurations
import { describe, expect, test } from 'vitest';
import { untraceable } from '../../test/harness/untraceable';
import { check } from '..';
import { layoutYaml } from '../launch/importedLayout';
import { readLaunchFile } from '../launch/read';
import type { FamilyName } from './families';

type Files = Readonly<Record<string, string>>;

/** The values of the first file, by their keys; null for those that are not known. */
function values(family: FamilyName, files: Files): Record<string, unknown> {
  const [file = '', text = ''] = Object.entries(files)[0] ?? [];
  const reading = readLaunchFile(file, text, (path) => files[path] ?? null);
  expect(reading.family).toBe(family);
  expect(untraceable(reading)).toEqual([]);
  return Object.fromEntries(reading.values.map(({ key, value }) => [key, value]));
}

describe('Megatron-LM', () => {
  test('a line without its backslash ends the command', () => {
    const script = 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4\n  --tensor-model-parallel-size 8';
    expect(values('megatron-lm', { 't.sh': script })).toMatchObject({ 'model.num_layers': 4, 'parallelism.tp': 1 });
  });

  test('a conversion of a checkpoint is no job, whatever degrees it is given', () => {
    const script = 'python convert_ckpt.py --expert-tensor-parallel-size 1 --target-tensor-parallel-size 8';
    expect(readLaunchFile('t.sh', script, () => null)).toMatchObject({ family: null, values: [] });
  });

  test.each([
    ['--num-layers 16 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2', 4],
    [
      '--num-layers 15 --account-for-loss-in-pipeline-split --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4',
      2,
    ],
    ['--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "Et*5|(t*3|)*2t*5,L"', 2],
    ['--pipeline-model-parallel-size 2 --hybrid-layer-pattern "M*|M*|M-|M*"', 2],
    ['--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 1', undefined],
  ])('virtual pipeline: %s', (flags, vpp) => {
    const found = values('megatron-lm', { 't.sh': `torchrun --nproc-per-node 8 pretrain_gpt.py ${flags}` });
    expect(found['parallelism.vpp']).toBe(vpp);
  });

  test('model_config.yaml: true is a switch, lists lose their brackets, an empty text drops the flag', () => {
    const config =
      'MODEL_ARGS: &a\n  --tensor-model-parallel-size: 2\n  --sequence-parallel: true\n  --recompute-modules: "[core_attn mlp]"\n' +
      "  --context-parallel-size: ''\n  --micro-batch-size: ${MBS}\n";
    expect(values('model-config', { 'model_config.yaml': config })).toMatchObject({
      'parallelism.tp': 2,
      'parallelism.cp': 1,
      'sequence.sequence_parallel': true,
      'recompute.modules': ['core_attn', 'mlp'],
      'batch.micro_batch_size': null,
      world_size: null,
    });
  });

  test('model_config.yaml: the world is that of the recipes that run the test, where they agree', () => {
    const config = 'MODEL_ARGS:\n  --tensor-model-parallel-size: 2\n  --micro-batch-size: 1\n';
    const recipe = (nodes: number, gpus: number, script: string) =>
      `spec: {model: gpt, nodes: ${nodes}, gpus: ${gpus}, script: "${script}"}\nproducts:\n  - test_case: [other, mine]\n`;
    const file = 'tests/functional_tests/test_cases/gpt/mine/model_config.yaml';
    const files = {
      [file]: config,
      'tests/test_utils/recipes/h100/gpt.yaml': recipe(1, 1, 'bash run.sh'),
      'tests/test_utils/recipes/gb200/gpt.yaml': recipe(2, 4, 'export GPUS_PER_NODE={gpus}'),
    };
    expect(values('model-config', files)).toMatchObject({ world_size: 8, 'parallelism.dp': 4 });
    expect(values('model-config', files)).not.toHaveProperty(['cluster.nodes']);
    const other = {
      ...files,
      'tests/test_utils/recipes/gb200/gpt-1node.yaml': recipe(1, 4, 'GPUS_PER_NODE={gpus} bash'),
    };
    expect(values('model-config', other)).toMatchObject({ world_size: null });
    const unlisted = {
      ...files,
      'tests/test_utils/recipes/h100/gpt.yaml': recipe(4, 8, 'x').replace('mine', 'theirs'),
    };
    expect(values('model-config', unlisted)).toMatchObject({ world_size: 8, 'cluster.nodes': 2 });
  });

  test('the argument dump of a log holds the values after validation', () => {
    const log =
      '[default0]:------------------------ arguments ------------------------\n' +
      '0:   data_parallel_size .............................. 4\n' +
      '  group_query_attention ........................... False\n' +
      '  num_attention_heads ............................. 16\n' +
      '  num_experts ..................................... None\n' +
      '  num_query_groups ................................ 1\n' +
      '  use_tp_pp_dp_mapping ............................ True\n' +
      '[default0]:  tensor_model_parallel_size ...................... 2\n' +
      '  world_size ...................................... 8\n' +
      '-------------------- end of arguments ---------------------\n  tensor_model_parallel_size .... 64\n';
    expect(values('megatron-log', { 'out.log': log })).toEqual({
      'parallelism.tp': 2,
      'parallelism.dp': 4,
      'parallelism.order': 'tp-cp-ep-pp-dp',
      'model.num_attention_heads': 16,
      'model.num_query_groups': 16,
      world_size: 8,
    });
  });

  test('the MIMO example has defaults of its own', () => {
    expect(
      values('mimo', { 't.sh': 'torchrun --nproc-per-node 8 examples/mimo/pretrain_mimo.py --llm-pp 1 --llm-ep 2' }),
    ).toMatchObject({
      'modules.encoder.tp': 2,
      'modules.encoder.dp': 2,
      'modules.language.rank_offset': 4,
      'modules.language.ep': 2,
      'modules.language.expt_tp': 1,
      world_size: 8,
    });
  });
});

describe('scripts that branch on an argument', () => {
  const JOB = 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --tensor-model-parallel-size $TP';

  /** The tensor-parallel sizes without a choice and for each job, and the notes. */
  function branches(script: string) {
    const read = (job?: string) => readLaunchFile('t.sh', `${script}\n${JOB}`, () => null, { job });
    const tp = (job?: string) => read(job).values.find(({ key }) => key === 'parallelism.tp')?.value;
    const { jobs, notes } = read();
    return { tp: tp(), jobs: Object.fromEntries(jobs.map((job) => [job, tp(job)])), notes: notes.join(' ') };
  }

  test.each([
    'case $1 in small) TP=2;; big) TP=8;; *) echo usage; exit 1;; esac',
    'SIZE=$1\nif [ $SIZE = small ]; then TP=2; elif [ $SIZE = big ]; then TP=8; fi',
    'if [[ "$1" == "small" ]]; then TP=2; elif [[ "$1" == "big" ]]; then TP=8; else exit 1; fi',
  ])('one that needs it says so, and offers its branches: %s', (script) => {
    const { tp, jobs, notes } = branches(script);
    expect({ tp, jobs }).toEqual({ tp: null, jobs: { small: 2, big: 8 } });
    expect(notes).toBe(
      'The script branches on its argument $1 (small, big); values in which they differ are unknown. Choose one with --job.',
    );
  });

  test.each(['TP=2\nif [ "$1" = big ]; then TP=8; fi', 'case "$1" in big) TP=8;; *) TP=2;; esac'])(
    'one that does without is read without, and offers its branches: %s',
    (script) => {
      const { tp, jobs, notes } = branches(script);
      expect({ tp, jobs }).toEqual({ tp: 2, jobs: { big: 8 } });
      expect(notes).toContain('the values are those without it');
    },
  );

  test('branches that start the same job are no choice', () => {
    const { tp, jobs, notes } = branches('TP=2\nif [ "$1" = big ]; then X=8; fi');
    expect({ tp, jobs, notes }).toEqual({ tp: 2, jobs: {}, notes: '' });
  });

  test('a script that runs for long is read once', () => {
    const script = (passes: number) =>
      `for i in {1..${passes}}; do A=$i; B=$i; C=$i; done\ncase $1 in big) TP=8;; mid) TP=4;; *) TP=2;; esac`;
    expect(branches(script(500))).toMatchObject({ tp: 2, jobs: { big: 8, mid: 4 } });
    expect(branches(script(1_000))).toMatchObject({ tp: 2, jobs: { big: 8, mid: 4 } });
    expect(branches(script(1_000).replace('mid)', 'mid) TP=4;; low)'))).toMatchObject({ tp: 2, jobs: {} });
  });

  test('a value that is an argument is said to be one', () => {
    expect(branches('TP=$2').notes).toBe('The script takes values from its arguments: $2.');
  });
});

describe('frameworks on Megatron', () => {
  test('the MIMO example without module grids has the degrees of Megatron-LM', () => {
    const script = 'torchrun --nproc_per_node 8 examples/mimo/train.py --num-layers 4 --tensor-model-parallel-size 8';
    const found = values('megatron-lm', { 't.sh': script });
    expect(found).toMatchObject({ 'parallelism.tp': 8, 'parallelism.dp': 1, world_size: 8 });
    expect(found).not.toHaveProperty(['modules.encoder.tp']);
  });

  test('Megatron Bridge: short flags of a script whose path is not known are over a recipe', () => {
    const script =
      'CMD=("$DIR/run_script.py" --model_recipe_name r --tensor_model_parallel_size 2)\ntorchrun --nproc_per_node=4 "${CMD[@]}"';
    const found = values('megatron-bridge', { 't.sh': script });
    expect(found).toMatchObject({ 'parallelism.tp': 2, 'parallelism.pp': null, world_size: 4 });
  });

  test('NeMo-RL: a script without --config takes its own', () => {
    const config =
      'policy: {megatron_cfg: {enabled: true, tensor_model_parallel_size: 2}}\ncluster: {num_nodes: 1, gpus_per_node: 4}\n';
    const files = {
      't.sh': 'uv run examples/run_grpo.py cluster.gpus_per_node=8',
      'examples/configs/grpo_math_1B.yaml': config,
    };
    expect(values('nemo-rl', files)).toMatchObject({ 'parallelism.tp': 2, world_size: 8 });
  });

  test('NeMo-RL: a recipe that changes a log alone inherits all the rest; sequence parallelism stays as written', () => {
    const base =
      'policy: {megatron_cfg: {enabled: true, tensor_model_parallel_size: 1, sequence_parallel: true}}\ncluster: {num_nodes: 1, gpus_per_node: 8}\n';
    const files = { 'r/a.yaml': 'defaults: ./b.yaml\nlogger: {log_dir: x}\n', 'r/b.yaml': base };
    expect(values('nemo-rl', files)).toMatchObject({
      'parallelism.tp': 1,
      'sequence.sequence_parallel': true,
      world_size: 8,
    });
  });

  test("Primus: a key of both presets is the trainer's; an experiment inherits from those it extends", () => {
    const trainer =
      'modules: {pre_trainer: {framework: megatron, config: t.yaml, model: m.yaml, overrides: {num_layers: 8}}}';
    const files = {
      'e/x.yaml': 'extends: [y.yaml]\nmodules: {pre_trainer: {overrides: {hidden_size: 64}}}',
      'e/y.yaml': trainer,
      'primus/configs/modules/megatron/t.yaml': 'make_vocab_size_divisible_by: 128\ntensor_model_parallel_size: 2',
      'primus/configs/models/megatron/m.yaml': 'make_vocab_size_divisible_by: 64\nnum_attention_heads: 16',
    };
    expect(values('primus', files)).toMatchObject({
      'parallelism.tp': 2,
      'model.make_vocab_size_divisible_by': 128,
      'model.num_layers': 8,
      'model.hidden_size': 64,
      'model.num_attention_heads': 16,
    });
  });

  test("Primus: the launcher's flags win over the experiment; one that was not found leaves the rest open", () => {
    const script =
      'export NNODES=2 EXP=e/x.yaml\nbash ./examples/run_slurm_pretrain.sh --tensor_model_parallel_size 4 2>&1 | tee log';
    const experiment = 'modules: {pre_trainer: {framework: megatron, overrides: {tensor_model_parallel_size: 2}}}';
    const known = { 'parallelism.tp': 4, 'parallelism.pp': 1, world_size: 16, 'parallelism.dp': 4 };
    expect(values('primus', { 't.sh': script, 'e/x.yaml': experiment })).toMatchObject(known);
    expect(values('primus', { 't.sh': script })).toMatchObject({ 'parallelism.tp': 4, 'parallelism.pp': null });
  });

  test('slime: the trainer has 1 x 8 GPUs unless told otherwise; a model that was not found stays unknown', () => {
    const script =
      'source "$(cd -- "$(dirname -- "$0")" && pwd)/models/a.sh"\n' +
      'ray job submit --address=http://x -- python3 train.py --colocate ${MODEL_ARGS[@]} --tensor-model-parallel-size 4 --rollout-num-gpus-per-engine 2';
    const model = 'MODEL_ARGS=(--num-layers 36 --group-query-attention --num-query-groups 8)';
    expect(values('slime', { 's/run.sh': script, 's/models/a.sh': model })).toMatchObject({
      world_size: 8,
      'model.num_layers': 36,
      'model.num_query_groups': 8,
      'parallelism.tp': 4,
      'parallelism.pp': 1,
      'phases.rollout.tp': 2,
      'optimizer.use_distributed_optimizer': true,
    });
    const found = values('slime', { 's/run.sh': script });
    expect(found).toMatchObject({ 'parallelism.tp': 4, 'parallelism.pp': null });
    expect(found).not.toHaveProperty(['model.num_layers']);
  });

  test('ms-swift: experts default to tp 1; the environment gives the world', () => {
    const script =
      'NNODES=2 NPROC_PER_NODE=4 megatron sft --tensor_model_parallel_size 2 --sequence_parallel true --virtual_pipeline_model_parallel_size 2 --pipeline_model_parallel_size 2';
    expect(values('ms-swift', { 't.sh': script })).toMatchObject({
      world_size: 8,
      'parallelism.expt_tp': 1,
      'parallelism.vpp': 2,
      'batch.global_batch_size': 16,
      'sequence.sequence_parallel': true,
    });
  });

  test('ms-swift: flags over the YAML file; with Ray the trainer has a part of its own', () => {
    const config =
      'model: m\ndataset: [d]\nENV: {NPROC_PER_NODE: 4}\nmax_length: 2048\nmicro_batch_size: 2\ntensor_model_parallel_size: 2\n';
    expect(values('ms-swift', { 't.sh': 'megatron sft c.yaml --micro_batch_size 1', 'c.yaml': config })).toMatchObject({
      world_size: 4,
      'parallelism.tp': 2,
      'batch.micro_batch_size': 1,
      'sequence.seq_length': 2048,
    });
    const ray =
      'model: m\ndataset: d\nmicro_batch_size: 2\ntrain: {gpus: 4, context_parallel_size: 2}\nrollout: {gpus: 4, vllm_tensor_parallel_size: 4}\n';
    expect(values('ms-swift', { 'r.yaml': ray })).toMatchObject({
      world_size: 4,
      'parallelism.cp': 2,
      'phases.rollout.engine': 'vllm',
      'phases.rollout.tp': 4,
    });
    expect(values('ms-swift', { 't.sh': 'NPROC_PER_NODE=8 megatron sft gone.yaml' })).toMatchObject({
      'parallelism.tp': null,
    });
  });

  test('MindSpeed-LLM: the FSDP2 trainer has settings of its own', () => {
    const script =
      'torchrun --nproc_per_node 8 train_fsdp2.py c.yaml --parallel.fsdp_size 4 --training.per_device_train_batch_size 2';
    const config = 'parallel: {fsdp_size: 8, ep_size: 2}\ndata: {cutoff_len: 4096}\n';
    const known = { 'parallelism.ep': 2, 'parallelism.tp': 1, 'sequence.seq_length': 4096 };
    expect(values('mindspeed', { 't.sh': script, 'c.yaml': config })).toMatchObject({
      ...known,
      world_size: 8,
      'fsdp.data_parallel_shard_degree': 4,
      'batch.micro_batch_size': 2,
    });
    expect(values('mindspeed', { 'c.yaml': config })).toMatchObject({ ...known, world_size: null });
  });

  test.each(['', '--mtp-num-layers 1', '--num-layers 62', '--num-layer-list $LAYERS'])(
    'MindSpeed-LLM: a list of layers decides the stages, which no rule judges: %s',
    (flags) => {
      const script =
        'export HCCL_X=1\ntorchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 61 --pipeline-model-parallel-size 4 ' +
        `--num-layer-list 15,15,15,16 ${flags}`;
      expect(values('mindspeed', { 't.sh': script })).toMatchObject({
        'model.num_layers': flags === '--num-layers 62' ? 62 : 61,
        'parallelism.pipeline_model_parallel_layout': null,
      });
      const { diagnostics } = check(layoutYaml(readLaunchFile('t.sh', script, () => null)));
      expect(diagnostics.map(({ code }) => code)).not.toContain('pipeline-layers');
    },
  );

  test('a line without its backslash loses the overrides after it, which is said', () => {
    const script =
      'python3 -m verl.trainer.main_ppo trainer.nnodes=2 \\\n  # why\n  actor_rollout_ref.rollout.tensor_model_parallel_size=4';
    const { values: found, notes } = readLaunchFile('t.sh', script, () => null);
    expect(found).toContainEqual({ key: 'phases.rollout.tp', value: 2, source: 'default' });
    expect(notes.join()).toContain('lacks its `\\`');
  });

  test('MindSpeed-LLM: msrun gives the world', () => {
    const script =
      'NPUS_PER_NODE=8\nNNODES=2\nmsrun --worker_num $(($NPUS_PER_NODE*$NNODES)) --local_worker_num $NPUS_PER_NODE pretrain_gpt.py --tensor-model-parallel-size 8 --noop-layers 1';
    expect(values('mindspeed', { 't.sh': script })).toMatchObject({
      world_size: 16,
      'parallelism.tp': 8,
      'cluster.nodes': 2,
    });
  });

  test('verl: the reference model follows the actor, the engine has degrees of its own', () => {
    const script =
      'python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 ' +
      'actor_rollout_ref.ref.megatron.pipeline_model_parallel_size=2 +actor_rollout_ref.actor.megatron.override_transformer_config.num_layers_in_first_pipeline_stage=3 ' +
      'trainer.nnodes=2 "$@"';
    expect(values('verl', { 't.sh': script })).toMatchObject({
      world_size: 16,
      'parallelism.tp': 4,
      'parallelism.expt_tp': 4,
      'sequence.sequence_parallel': true,
      'model.num_layers_in_first_pipeline_stage': 3,
      'phases.reference.tp': 4,
      'phases.reference.pp': 2,
      'phases.rollout.tp': 2,
    });
  });

  test('verl: FSDP shards over all ranks unless told otherwise; supervised training is torchrun alone', () => {
    const rl = 'python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=4';
    expect(values('verl', { 't.sh': rl })).toMatchObject({
      'fsdp.data_parallel_shard_degree': 4,
      'phases.rollout.engine': 'vllm',
      'phases.rollout.dp': 1,
    });
    expect(values('verl', { 't.sh': `${rl} actor_rollout_ref.actor.fsdp_config.fsdp_size=2` })).toMatchObject({
      'fsdp.data_parallel_shard_degree': 2,
      'fsdp.data_parallel_replicate_degree': 2,
    });
    const sft =
      'torchrun --nproc_per_node=2 -m verl.trainer.fsdp_sft_trainer data.micro_batch_size_per_gpu=4 data.max_length=512';
    const found = values('verl', { 't.sh': sft });
    expect(found).toMatchObject({ world_size: 2, 'batch.micro_batch_size': 4, 'sequence.seq_length': 512 });
    expect(found).not.toHaveProperty(['phases.rollout.tp']);
  });

  test('NeMo-RL: coverage runs the script that follows it; SGLang has names of its own', () => {
    const script = 'uv run coverage run -a --source=x examples/run_grpo.py --config b.yaml cluster.gpus_per_node=2';
    const config =
      'policy: {megatron_cfg: {enabled: true, tensor_model_parallel_size: 2}, generation: {backend: sglang, sglang_cfg: {tp_size: 2}}}\ncluster: {num_nodes: 1, gpus_per_node: 8}\n';
    expect(values('nemo-rl', { 't.sh': script, 'b.yaml': config })).toMatchObject({
      world_size: 2,
      'parallelism.tp': 2,
      'phases.rollout.tp': 2,
    });
  });

  test('NeMo-RL: parents, references, replaced maps, and generation with GPUs of its own', () => {
    const base =
      'policy: {precision: bfloat16, train_micro_batch_size: 4, megatron_cfg: {enabled: true, tensor_model_parallel_size: 1, expert_tensor_parallel_size: 1}, generation: {backend: vllm, vllm_cfg: {tensor_parallel_size: 2, pipeline_parallel_size: 3}}}\ncluster: {num_nodes: 1, gpus_per_node: 8}\n';
    const child =
      'defaults: ../base.yaml\npolicy:\n  megatron_cfg: {tensor_model_parallel_size: 4, pipeline_model_parallel_size: "${policy.megatron_cfg.tensor_model_parallel_size}"}\n' +
      '  generation: {vllm_cfg: {_override_: true, tensor_parallel_size: 8}, colocated: {enabled: false, resources: {num_nodes: 2, gpus_per_node: 8}}}\ncluster: {num_nodes: 4}\n';
    const found = values('nemo-rl', { 'r/x/child.yaml': child, 'r/base.yaml': base });
    expect(found).toMatchObject({
      'parallelism.tp': 4,
      'parallelism.pp': 4,
      'parallelism.expt_tp': 1,
      'batch.micro_batch_size': 4,
      'phases.rollout.tp': 8,
      world_size: 16,
    });
    expect(found).not.toHaveProperty(['phases.rollout.pp']);
    expect(values('nemo-rl', { 'r/x/child.yaml': child })).toMatchObject({
      'parallelism.tp': 4,
      'parallelism.cp': null,
    });
  });

  test('Primus: one colon before a default; presets that were not found leave values open', () => {
    const experiment =
      'modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n    overrides:\n      tensor_model_parallel_size: ${PRIMUS_TP:2}\n      pipeline_model_parallel_size: ${PP}\n';
    const preset = 'context_parallel_size: 4\nnum_layers: 8\n';
    expect(values('primus', { 'e/x.yaml': experiment })).toMatchObject({
      'parallelism.tp': 2,
      'parallelism.pp': null,
      'parallelism.cp': null,
      world_size: null,
    });
    const files = { 'e/x.yaml': experiment, 'primus/configs/modules/megatron/pre_trainer.yaml': preset };
    expect(values('primus', files)).toMatchObject({ 'parallelism.cp': 4, 'parallelism.ep': 1, 'model.num_layers': 8 });
  });

  test('Primus: layers by hand become a pipeline layout, one number a stage', () => {
    const experiment = (more: string) =>
      `modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      pipeline_model_parallel_size: 4\n      decoder_pipeline_manual_split_list: [1, 2, 3, 2]\n${more}`;
    const key = 'parallelism.pipeline_model_parallel_layout';
    expect(values('primus', { 'e/x.yaml': experiment('') })).toMatchObject({ [key]: 'Et|t*2|t*3|t*2L' });
    const interleaved = experiment('      num_virtual_stages_per_pipeline_rank: 2\n');
    expect(values('primus', { 'e/x.yaml': interleaved })).not.toHaveProperty([key]);
  });

  test('Megatron Bridge: what only the Python recipe sets is unknown', () => {
    const script =
      'for config in "2,1" "2,2"; do IFS="," read -r TP PP <<< "$config"\n' +
      'uv run python -m torch.distributed.run --nproc_per_node=8 scripts/training/run_recipe.py --recipe x model.tensor_model_parallel_size=$TP model.pipeline_model_parallel_size=$PP train.micro_batch_size=1\ndone';
    expect(values('megatron-bridge', { 't.sh': script })).toMatchObject({
      'parallelism.tp': 2,
      'parallelism.pp': null,
      'parallelism.cp': null,
      'batch.micro_batch_size': 1,
      world_size: 8,
    });
  });
});

test('Megatron Bridge: scripts that submit a job say its resources, and have short flags', () => {
  const script = 'python scripts/performance/setup_experiment.py -ng 64 -gn 8 -tp 2 --pipeline_model_parallel_size 4';
  expect(values('megatron-bridge', { 't.sh': script })).toMatchObject({
    world_size: 64,
    'cluster.nodes': 8,
    'parallelism.tp': 2,
    'parallelism.pp': 4,
    'parallelism.cp': null,
  });
});

describe('other frameworks', () => {
  test('torchtitan: a function of config_registry.py, and flags over it', () => {
    const registry = `def small() -> Trainer.Config:
    return Trainer.Config(data=DATASETS["c4"], training=TrainingConfig(max_context_length=2048),
        parallelism=ParallelismConfig(expert_parallel_degree=2))
def large() -> Trainer.Config:
    config = small()
    config.parallelism.tensor_parallel_degree = 4
    return config
def other():
    config = elsewhere()
    config.training.max_context_length = 64
    return config
`;
    const file = 'torchtitan/models/llama3/config_registry.py';
    const script = 'NGPU=16 MODULE=llama3 CONFIG=large ./run_train.sh --parallelism.pipeline_parallel_degree 2';
    expect(values('torchtitan', { 't.sh': script, [file]: registry })).toMatchObject({
      world_size: 16,
      'parallelism.tp': 4,
      'parallelism.pp': 2,
      'parallelism.cp': 1,
      'parallelism.ep': 2,
      'fsdp.data_parallel_shard_degree': 2,
      'sequence.seq_length': 2048,
    });
    expect(values('torchtitan', { [file]: registry })).toMatchObject({ 'parallelism.tp': null, world_size: null });
    expect(readLaunchFile(file, registry, () => null, { job: 'other' }).values).toContainEqual(
      expect.objectContaining({ key: 'parallelism.tp', value: null }),
    );
  });

  test('torchtitan: overrides over TOML; -1 shards over what is left', () => {
    const toml =
      '[parallelism]\ntensor_parallel_degree = 2\npipeline_parallel_degree = 2\n[training]\nseq_len = 4096\n[model]\nname = "a"\n';
    const script =
      'torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file a.toml --parallelism.tensor_parallel_degree=4';
    expect(values('torchtitan', { 't.sh': script, 'a.toml': toml })).toMatchObject({
      'parallelism.tp': 4,
      'parallelism.pp': 2,
      'sequence.seq_length': 4096,
      'parallelism.dp': 1,
      world_size: 8,
    });
    expect(values('torchtitan', { 'a.toml': toml })).toMatchObject({ 'parallelism.tp': 2, world_size: null });
  });

  test('torchtitan: degrees of early years stand under training', () => {
    const toml =
      '[training]\ntensor_parallel_degree = 4\nseq_len = 64\n[experimental]\npipeline_parallel_degree = 2\n[model]\nname = "a"\n';
    expect(values('torchtitan', { 'a.toml': toml })).toMatchObject({ 'parallelism.tp': 4, 'parallelism.pp': 2 });
  });

  test.each([
    ['pipeline_parallel_schedule = "Interleaved1F1B"', 2],
    ['pipeline_parallel_schedule = "1F1B"', undefined],
    ['pipeline_parallel_schedule = "Interleaved1F1B"\npipeline_parallel_layers_per_stage = 2', null],
    ['', undefined],
  ])('torchtitan: the schedule decides the virtual stages: %s', (schedule, vpp) => {
    const found = values('torchtitan', { 'a.toml': `[parallelism]\npipeline_parallel_degree = 2\n${schedule}\n` });
    expect(found['parallelism.vpp']).toBe(vpp);
  });

  test('ms-swift: Hugging Face’s trainer has a world and a batch, and no degrees', () => {
    const script =
      'NNODES=2 NPROC_PER_NODE=4 swift rlhf --per_device_train_batch_size 2 --max_length 64 --use_vllm true --vllm_tensor_parallel_size 2';
    const found = values('ms-swift', { 't.sh': script });
    expect(found).toMatchObject({ world_size: 8, 'batch.micro_batch_size': 2, 'phases.rollout.tp': 2 });
    expect(found).not.toHaveProperty(['parallelism.tp']);
    expect(values('ms-swift', { 't.sh': 'torchrun --nproc_per_node 2 swift/cli/sft.py --lr 1' })).toMatchObject({
      world_size: 2,
      'batch.micro_batch_size': 1,
    });
  });

  test('accelerate: num_processes is the world', () => {
    const config =
      'distributed_type: FSDP\nnum_machines: 2\nnum_processes: 16\nparallelism_config:\n  parallelism_config_tp_size: 2\n  parallelism_config_dp_shard_size: 8\n';
    expect(values('accelerate', { 'a.yaml': config })).toMatchObject({
      world_size: 16,
      'parallelism.tp': 2,
      'parallelism.dp': 8,
    });
  });

  test('accelerate: its flags win over its configuration', () => {
    const script =
      'accelerate launch --config_file a.yaml --num_processes 4 --parallelism_config_tp_size 4 train.py --lr 1';
    const config = 'distributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\n';
    const found = values('accelerate', { 't.sh': script, 'a.yaml': config });
    expect(found).toMatchObject({ world_size: 4, 'parallelism.tp': 4 });
  });

  test('axolotl: the world is the launcher’s', () => {
    const config =
      'base_model: x\ndatasets: []\ntensor_parallel_size: 2\nsequence_parallel_degree: 4\nmicro_batch_size: 1\n';
    expect(values('axolotl', { 'a.yaml': config })).toMatchObject({
      'parallelism.tp': 2,
      'parallelism.cp': 4,
      world_size: null,
    });
  });

  test('nanotron: dp is written, and the world is the product', () => {
    const config =
      'parallelism: {dp: 4, pp: 2, tp: 2, tp_mode: REDUCE_SCATTER, expert_parallel_size: 2}\ntokens: {micro_batch_size: 2, batch_accumulation_per_replica: 3, sequence_length: 64}\n';
    expect(values('nanotron', { 'a.yaml': config })).toMatchObject({
      world_size: 16,
      'parallelism.dp': 4,
      'sequence.sequence_parallel': true,
      'batch.global_batch_size': 24,
    });
  });

  test('serving: one role a configuration', () => {
    const recipe =
      'backend:\n  type: sglang\n  sglang_config:\n    prefill: {tp-size: 4, dp-size: 2}\n    decode: {tensor-parallel-size: 8}\n';
    expect(values('srt-slurm', { 'r.yaml': recipe })).toMatchObject({
      'phases.prefill.tp': 4,
      'phases.prefill.dp': 2,
      'phases.decode.tp': 8,
    });
    const trt =
      'base:\n  backend: {type: trtllm, trtllm_config: {decode: {tensor_parallel_size: 16, moe_expert_parallel_size: 8}}}';
    const found = values('srt-slurm', { 'r.yaml': trt });
    expect(found).toMatchObject({ 'phases.decode.tp': 16, 'phases.decode.ep': 8, 'phases.decode.engine': 'trtllm' });
    expect(found).not.toHaveProperty(['phases.decode.dp']);
    const second = 'schema: 2\nengine: vllm\nroles: {agg: {nodes: 1, args: {tensor-parallel-size: 4, block-size: 16}}}';
    expect(values('srt-slurm', { 'r.yaml': second })).toMatchObject({
      'phases.agg.tp': 4,
      'phases.agg.engine': 'vllm',
    });
    expect(values('vllm', { 't.sh': 'vllm serve m --tensor-parallel-size 4' })).toMatchObject({ 'phases.serve.tp': 4 });
    const script = 'vllm serve m -tp 4 --data-parallel-size 2 --enable-expert-parallel';
    expect(values('vllm', { 't.sh': script })).toMatchObject({ 'phases.serve.dp': 2, 'phases.serve.ep': 8 });
    const sglang = 'python3 -m sglang.launch_server --model m --tp 8 --dp-size 2 --ep 8';
    expect(values('sglang', { 't.sh': sglang })).toMatchObject({ 'phases.serve.tp': 8, 'phases.serve.ep': 8 });
  });
});
