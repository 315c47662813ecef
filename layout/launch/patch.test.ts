import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isPlainPatch } from '../escape';
import { launchPatch, unifiedDiff } from './patch';
import { readLaunchFile } from './read';

const SCRIPT = `#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8

NAME=run
# the layout
TP=8
PP=2

srun python pretrain_gpt.py \\
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \\
  --num-layers 32 --sequence-parallel
`;

const layout = (rest: string) => `layout: 1\ncluster: {nodes: 3, gpus_per_node: 8}\n${rest}`;

function patched(text: string) {
  const reading = readLaunchFile('/w/train.sbatch', SCRIPT, () => null);
  const { files, written } = launchPatch('/w/job.layout.yaml', text, reading);
  const { before = '', after = '' } = files.get('/w/train.sbatch') ?? {};
  return { before, after, written: written.map(({ key }) => key) };
}

test('every value that the files write as it stands is changed, the others are left', () => {
  const { after, written } = patched(
    layout('parallelism: {tp: 4, pp: 1}\nsequence: {sequence_parallel: false}\nmodel: {num_layers: 32}\n'),
  );
  // a bare flag has no value to change
  expect(written).toEqual(['parallelism.tp', 'parallelism.pp', 'cluster.nodes']);
  expect(after).toBe(SCRIPT.replace('nodes=4', 'nodes=3').replace('TP=8', 'TP=4').replace('PP=2', 'PP=1'));
});

test('the total of weight shards follows a layout that writes the degree', () => {
  const script = (shards: number) =>
    `torchrun --nnodes 3 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size 2 --tensor-parallel-num-weight-shards ${shards}\n`;
  const reading = readLaunchFile('/w/train.sh', script(8), () => null);
  const { files, written } = launchPatch('/w/job.layout.yaml', layout('parallelism: {tp: 2, gtp_remat: 2}\n'), reading);
  expect(files.get('/w/train.sh')?.after).toBe(script(4));
  expect(written.map(({ key }) => key)).toEqual(['parallelism.num_weight_shards']);
});

test('the nodes that Slurm gives follow those that a launcher names, where they were the same', () => {
  const script = (asked: string, nodes: number) =>
    `#!/bin/bash\n#SBATCH ${asked}\ntorchrun --nnodes ${nodes} --nproc-per-node 8 pretrain_gpt.py --num-layers 32\n`;
  const after = (asked: string) => {
    const reading = readLaunchFile('/w/train.sh', script(asked, 4), () => null);
    return launchPatch('/w/job.layout.yaml', layout('parallelism: {tp: 1}\n'), reading).files.get('/w/train.sh')?.after;
  };
  expect(after('--nodes=4')).toBe(script('--nodes=3', 3));
  expect(after('-N4')).toBe(script('-N3', 3));
  expect(after('--nodes 5')).toBe(script('--nodes 5', 3));
  expect(after('--nodes=4-8')).toBe(script('--nodes=4-8', 3));
});

test('the patch is one that patch takes', () => {
  const { before, after } = patched(layout('parallelism: {tp: 4, pp: 1}\nmodel: {num_layers: 32}\n'));
  const folder = mkdtempSync(join(tmpdir(), 'patch-'));
  try {
    writeFileSync(join(folder, 'train.sbatch'), before);
    execFileSync('git', ['apply', '-p1', '-'], { cwd: folder, input: unifiedDiff('train.sbatch', before, after) });
    expect(readFileSync(join(folder, 'train.sbatch'), 'utf8')).toBe(after);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('changes that lie near one another are one hunk, and a last line may be open', () => {
  const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'].join('\n');
  expect(unifiedDiff('x', before, before.replace('b', 'B').replace('l', 'L'))).toBe(
    [
      '--- a/x',
      '+++ b/x',
      '@@ -1,5 +1,5 @@',
      ' a',
      '-b',
      '+B',
      ' c',
      ' d',
      ' e',
      '@@ -9,4 +9,4 @@',
      ' i',
      ' j',
      ' k',
      '-l',
      '\\ No newline at end of file',
      '+L',
      '\\ No newline at end of file',
      '',
    ].join('\n'),
  );
});

test.each([
  'my job.sh',
  'a\n--- a/x\n+++ b/evil.sh\n@@ -0,0 +1 @@\n+evil',
  'q"\\.sh',
  '\u001b]52;c;eA==\u0007.sh',
  'モデル\u202e.sh',
  '##[error].sh',
])('a file with the name %j is patched, and no other', (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'patch-'));
  try {
    const path = name.replaceAll('/', '_');
    writeFileSync(join(folder, path), 'a\nb\n');
    const patch = unifiedDiff(path, 'a\nb\n', 'a\nc\n');
    expect(isPlainPatch(patch)).toBe(true);
    for (const program of [
      ['git', 'apply', '-p1', '-'],
      ['patch', '-p1', '-s'],
    ]) {
      const [command = '', ...words] = program;
      writeFileSync(join(folder, path), 'a\nb\n');
      execFileSync(command, words, { cwd: folder, input: patch });
      expect(readFileSync(join(folder, path), 'utf8')).toBe('a\nc\n');
    }
    expect(readdirSync(folder)).toEqual([path]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ['tp=2\tx \r', true],
  ['echo "⚠️ 👩‍💻 モデル"', true],
  ['# \u001b[2J', false],
  ['# \u009b31m', false],
  ['# \u202e', false],
  ['# \u{e0041}', false],
  ['a\rb', false],
  ['::error::x', false],
  ['echo "##[error]x"', false],
])('lines around a change are shown only where they command nothing: %j', (line, isShown) => {
  expect(isPlainPatch(unifiedDiff('x', `${line}\na\n`, `${line}\nb\n`))).toBe(isShown);
});
