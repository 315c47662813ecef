import { expect, test } from 'vitest';
import { driftBetween } from './drift';
import { readLaunchFile } from './read';

const LAYOUT = `layout: 1
world_size: 16
parallelism:
  tp: 4
  pp: 2
  cp: 2
model: {num_layers: 32, num_attention_heads: 32}
batch: {micro_batch_size: 1}
`;

const script = (flags: string) =>
  readLaunchFile('train.sh', `torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py ${flags}`, () => null);

test('a layout and a script that say the same', () => {
  const flags =
    '--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --context-parallel-size 2 --num-layers 32 --num-attention-heads 32 --micro-batch-size 1';
  expect(driftBetween('a.layout.yaml', LAYOUT, script(flags))).toEqual({ differences: [], unknown: [] });
});

test('differences are those of written values, and of defaults against written values', () => {
  const drift = driftBetween(
    'a.layout.yaml',
    LAYOUT,
    script(
      '--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --num-layers 32 --num-attention-heads 32 --expert-model-parallel-size 2 --micro-batch-size $MBS',
    ),
  );
  expect(drift.differences.map(({ message }) => message)).toEqual([
    'train.sh says tp 8 (--tensor-model-parallel-size, line 1); this layout says tp 4.',
    'train.sh says ep 2 (--expert-model-parallel-size, line 1); this layout leaves ep at its default, 1.',
    'train.sh leaves cp at its default, 1; this layout says cp 2.',
  ]);
  expect(drift.differences.map(({ mirrored }) => mirrored)).toEqual([
    'a.layout.yaml says tp 4 (line 4); this file says tp 8.',
    'a.layout.yaml leaves ep at its default, 1; this file says ep 2.',
    'a.layout.yaml says cp 2 (line 6); this file says cp 1.',
  ]);
  const [tp] = drift.differences;
  expect(tp).toMatchObject({
    layout: { value: 4, offset: LAYOUT.indexOf('tp: 4') + 4 },
    launch: { value: 8, source: { file: 'train.sh', line: 1 } },
  });
  expect(drift.unknown).toEqual([{ key: 'batch.micro_batch_size', lookedFor: 'environment variable MBS' }]);
});

test('a degree and its total of weight shards say the same', () => {
  const layout = 'layout: 1\nworld_size: 16\nparallelism: {tp: 2, gtp_remat: 2}\n';
  const flags = '--tensor-model-parallel-size 2 --tensor-parallel-num-weight-shards ';
  expect(driftBetween('a', layout, script(`${flags}4`)).differences).toEqual([]);
  expect(driftBetween('a', layout, script(`${flags}8`)).differences.map(({ key }) => key)).toEqual([
    'parallelism.num_weight_shards',
  ]);
});

test('a layout that names no chunks does not interleave', () => {
  const says = (chunks: string, flags: string) =>
    driftBetween(
      'a',
      `layout: 1\nworld_size: 16\nparallelism: {pp: 2${chunks}}\nmodel: {num_layers: 8}\n`,
      script(`--num-layers 8 --pipeline-model-parallel-size 2 ${flags}`),
    ).differences.map(({ message }) => message);
  const two = '--num-virtual-stages-per-pipeline-rank 2';
  expect(says('', two)).toEqual([
    'train.sh says vpp 2 (--num-virtual-stages-per-pipeline-rank, line 1); this layout leaves vpp at its default, 1.',
  ]);
  expect(says('', '')).toEqual([]);
  expect(says(', vpp: 2', two)).toEqual([]);
  expect(says(', num_layers_per_virtual_pipeline_stage: 2', two)).toEqual([]);
  expect(says(', vpp: 2', '')).toEqual(['train.sh leaves vpp at its default, 1; this layout says vpp 2.']);
});

test('a message names an option of Slurm', () => {
  const text =
    '#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun --ntasks-per-node 8 python pretrain_gpt.py --num-layers 8';
  const reading = readLaunchFile('job.sh', text, () => null);
  const [world] = driftBetween('a.layout.yaml', 'layout: 1\nworld_size: 8\n', reading).differences;
  expect(world?.message).toBe('job.sh says world_size 16 (--nodes, line 2); this layout says world_size 8.');
});

test.each([
  ['TP=8', '--tensor-model-parallel-size $TP', 'TP, line 1'],
  [`TP=\${TP:-8}`, '--tensor-model-parallel-size=$TP', 'TP, line 1'],
  ['', "--tensor-model-parallel-size='8'", '--tensor-model-parallel-size, line 2'],
  ['#SBATCH --nodes=1\nTP=8', '--tensor-model-parallel-size $TP --nnodes $SLURM_NNODES', 'TP, line 2'],
  ['ARGS=(8)', '--tensor-model-parallel-size $ARGS', 'line 1'],
])('a message names what the script sets: %s %s', (line, flag, place) => {
  const text = `${line}\ntorchrun --nproc-per-node 8 pretrain_gpt.py ${flag}`;
  const reading = readLaunchFile('/jobs/train.sh', text, () => null);
  const layout = 'layout: 1\nworld_size: 8\nparallelism: {tp: 4}\n';
  expect(driftBetween('/jobs/a.layout.yaml', layout, reading).differences.map(({ message }) => message)).toEqual([
    `train.sh says tp 8 (${place}); this layout says tp 4.`,
  ]);
});

test.each([
  ['launch: {family: verl}', 'run.sh trains on fsdp; this layout says engine megatron.'],
  ['launch: {family: verl, engine: fsdp}', undefined],
  ['launch: {family: slime}', undefined],
])('what trains is compared: %s', (launch, message) => {
  const text = 'python3 -m verl.trainer.main_ppo data.train_batch_size=64 trainer.n_gpus_per_node=8\n';
  const reading = readLaunchFile('run.sh', text, () => null);
  const { differences } = driftBetween('a.layout.yaml', `layout: 1\nworld_size: 8\n${launch}\n`, reading);
  expect(differences.find(({ key }) => key === 'launch.engine')?.message).toBe(message);
});
