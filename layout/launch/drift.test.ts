import { expect, test } from 'vitest';
import { check, ruleLevels, ruleOf, saidDifferences } from '../../layout';
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

/** What is said on a layout of its differences from `train.sh`, as the checker prints it. */
function printed(layout: string, launch: string, rules: unknown = {}): string[] {
  const checked = check(layout, ruleLevels(rules).levels);
  const reading = readLaunchFile('train.sh', launch, () => null);
  const { differences } = driftBetween('a.layout.yaml', layout, reading);
  return saidDifferences(checked, { start: 0, end: 1 }, differences).map(({ diagnostic }) => {
    const { line, character } = checked.lines.positionAt(diagnostic.span.start);
    return `${line + 1}:${character + 1}: ${diagnostic.severity}[${diagnostic.code}]: ${diagnostic.message}`;
  });
}

test('the page of launch-drift shows what is printed of its files', () => {
  const rule = ruleOf('launch-drift');
  const launch = rule?.beside?.text ?? '';
  expect(printed(rule?.failing ?? '', launch)).toEqual([rule?.beside?.said]);
  expect(printed(rule?.passing ?? '', launch)).toEqual([]);
});

const DIFFERENT = 'layout: 1\nworld_size: 8\nparallelism: {tp: 4}\n';
const SCRIPT = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8';

test.each([
  ['nothing', DIFFERENT, {}, 'warning'],
  [
    'a comment on the line',
    DIFFERENT.replace('}', '} # layout-ignore: launch-drift the script is for 8 GPUs'),
    {},
    null,
  ],
  ['a comment on another line', DIFFERENT.replace('8', '8 # layout-ignore: launch-drift'), {}, 'warning'],
  ['its severity', DIFFERENT, { 'launch-drift': 'error' }, 'error'],
  ['its severity off', DIFFERENT, { 'launch-drift': 'off' }, null],
])('launch-drift with %s', (_, layout, rules, severity) => {
  expect(printed(layout, SCRIPT, rules).map((line) => /\w+(?=\[)/.exec(line)?.[0])).toEqual(severity ? [severity] : []);
  expect(check(layout).diagnostics).toEqual([]);
});
