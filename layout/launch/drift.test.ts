import { expect, test } from 'vitest';
import { driftBetween } from './drift';
import { readLaunchFile } from './import';

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
    'tp is 4 in the layout, 8 in the launch file.',
    "ep is 1 by the layout's default, 2 in the launch file.",
    "cp is 2 in the layout, 1 by the framework's default: the launch file does not set it.",
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
