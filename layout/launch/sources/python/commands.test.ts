import { expect, test } from 'vitest';
import { readLaunchFile } from '../../read';

function said(text: string): (string | undefined)[] {
  const { values } = readLaunchFile('launch.py', text, () => null);
  return ['world_size', 'parallelism.tp'].map((key) => {
    const found = values.find((one) => one.key === key);
    return (
      found && `${found.value} of ${typeof found.source === 'object' ? `line ${found.source.line}` : found.source}`
    );
  });
}

test.each([
  [
    'a list of strings',
    'import subprocess\nsubprocess.run([\n  "torchrun", "--nproc-per-node", "8",\n  "pretrain_gpt.py", "--tensor-model-parallel-size", "4",\n])\n',
    ['8 of line 3', '4 of line 4'],
  ],
  [
    'a string',
    'import os\nos.system("torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2")\n',
    ['8 of line 2', '2 of line 2'],
  ],
  [
    'a list that is computed in part is not plain',
    'run(["torchrun", "--nproc-per-node", str(n), "pretrain_gpt.py", "--tensor-model-parallel-size", "4"])\n',
    [undefined, undefined],
  ],
  ['lists of other programs', 'run(["git", "pull"])\n', [undefined, undefined]],
  ['a list that is cut off', 'run(["torchrun", "pretrain_gpt.py",\n', [undefined, undefined]],
])('%s', (_, text, values) => {
  expect(said(text)).toEqual(values);
});
