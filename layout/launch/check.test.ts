// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are shell scripts and configurations
import { expect, test } from 'vitest';
import { check } from '../check';
import { checkLaunch } from './check';
import { layoutYaml } from './index';
import { readLaunchFile } from './read';

type Files = Readonly<Record<string, string>>;

/** What is said of the first file: the code of each diagnostic, and the word that it stands at. */
function said(files: Files): string[] {
  const [file = '', text = ''] = Object.entries(files)[0] ?? [];
  const reading = readLaunchFile(file, text, (path) => files[path] ?? null);
  return checkLaunch(reading).map(
    ({ diagnostic, offset }) => `${diagnostic.code} at ${/^\S+/.exec(text.slice(offset))?.[0]}`,
  );
}

const WORLD = 'torchrun --nproc-per-node 8';
const EXPERIMENT = `modules:
  pre_trainer:
    framework: megatron
    overrides:
      num_layers: 16
      pipeline_model_parallel_size: \${PRIMUS_PP:3}
`;
const PRIMUS = { 'exp.yaml': EXPERIMENT };

test.each<readonly [string, Files, readonly string[]]>([
  [
    'the flag at fault is found',
    { 'a.sh': `${WORLD} pretrain_gpt.py --tensor-model-parallel-size 3` },
    ['dense-factorization at 3'],
  ],
  [
    'a fork replaces how layers are split',
    {
      'a.sh': `export HCCL_X=1\n${WORLD} pretrain_gpt.py --num-layers 61 --pipeline-model-parallel-size 4 --num-layer-list 15,15,15,16`,
    },
    [],
  ],
  [
    'an unknown switch may count the embedding as a layer',
    {
      'a.sh': `if [ "$SPLIT" = 1 ]; then EXTRA=--account-for-embedding-in-pipeline-split; fi\n${WORLD} pretrain_gpt.py --num-layers 31 --pipeline-model-parallel-size 4 $EXTRA`,
    },
    [],
  ],
  [
    'layers without operation count among the layers',
    {
      'a.sh': `export HCCL_X=1\n${WORLD} pretrain_gpt.py --num-layers 62 --pipeline-model-parallel-size 4 --noop-layers 61`,
    },
    ['pipeline-layers at 4'],
  ],
  [
    'a script that infers is no training',
    { 'a.sh': `${WORLD} inference.py --num-layers 61 --pipeline-model-parallel-size 4` },
    [],
  ],
  [
    'a degree that nobody knows could make it right',
    { 'a.sh': `${WORLD} pretrain_gpt.py --micro-batch-size 1 --global-batch-size 4 --tensor-model-parallel-size $TP` },
    [],
  ],
  [
    'stages decide the virtual stages',
    {
      'a.sh': `${WORLD} pretrain_gpt.py --num-layers 4 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "Et|t|t|tL"`,
    },
    [],
  ],
  [
    'a rollout on GPUs of its own lies beyond the world',
    {
      'a.sh':
        'python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 2 --rollout-num-gpus 6 --rollout-num-gpus-per-engine 3 --tensor-model-parallel-size 2',
    },
    [],
  ],
  [
    'a rollout spreads its experts over the ranks of tp',
    {
      'a.sh':
        'python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --rollout-num-gpus-per-engine 8 --sglang-ep-size 8 --tensor-model-parallel-size 8',
    },
    [],
  ],
  [
    'Megatron-LM alone wants both overlaps',
    {
      'a.yaml':
        'policy:\n  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 2\n    optimizer: {use_distributed_optimizer: true}\n' +
        '    distributed_data_parallel_config: {overlap_grad_reduce: false, overlap_param_gather: true}\ncluster: {num_nodes: 1, gpus_per_node: 8}\ngrpo: {}\n',
    },
    [],
  ],
  [
    "a variable of the script wins over Primus's default",
    { 'a.sh': 'export EXP=exp.yaml PRIMUS_PP=5\nbash run_pretrain.sh', ...PRIMUS },
    ['dense-factorization at 5', 'pipeline-layers at 5'],
  ],
  [
    "a flag wins over Primus's experiment",
    {
      'a.sh': './primus-cli direct -- train pretrain --config exp.yaml --pipeline_model_parallel_size 5',
      ...PRIMUS,
    },
    ['dense-factorization at 5', 'pipeline-layers at 5'],
  ],
  [
    'Primus drops quotes of its own, also where its experiment is not found',
    {
      'a.sh': `EXP=no.yaml bash run_pretrain.sh --num_layers 2 --pipeline_model_parallel_size 2 --pipeline_model_parallel_layout "'Et|tL'"`,
    },
    [],
  ],
  [
    'a projection runs no job',
    {
      'a.sh': './primus-cli direct -- projection --config exp.yaml --pipeline_model_parallel_size 5',
      ...PRIMUS,
    },
    [],
  ],
])('%s', (_, files, expected) => {
  expect(said(files)).toEqual(expected);
});

test('engines on GPUs of their own are held against these, not against the world of the trainer', () => {
  const script = (gpus: number) =>
    `python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 2 --rollout-num-gpus-per-engine 4 --rollout-num-gpus ${gpus}`;
  const read = (gpus: number) => layoutYaml(readLaunchFile('a.sh', script(gpus), () => null));
  expect(read(8)).toContain('rollout_gpus: 8');
  expect([8, 6].map((gpus) => errorsOf(read(gpus)))).toEqual([[], ['rollout-gpus']]);
});

const errorsOf = (text: string): string[] =>
  check(text).diagnostics.flatMap(({ severity, code }) => (severity === 'error' ? [code] : []));
