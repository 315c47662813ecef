import { expect, test } from 'vitest';
import { applyEdits } from '../format/edit';
import { driftBetween } from './drift';
import { launchFix, layoutFix } from './fixes';
import { readLaunchFile } from './read';

const SCRIPT = `TP=8
GPUS=8
torchrun --nnodes 2 --nproc-per-node $GPUS pretrain_gpt.py \\
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $((TP / 4)) \\
  --num-layers 32 --sequence-parallel
`;

const layoutOf = (parallelism: string, rest = '') => `layout: 1\nworld_size: 16\nparallelism:\n${parallelism}${rest}`;

/** The titles of both fixes of each difference, with the lines that they write. */
function fixes(text: string, script = SCRIPT): string[] {
  const reading = readLaunchFile('/w/train.sh', script, () => null);
  const file = '/w/job.layout.yaml';
  return driftBetween(file, text, reading).differences.flatMap((difference) =>
    [layoutFix, launchFix].flatMap((fixOf) => {
      const fix = fixOf({ file, text, reading, difference });
      const before = fix?.file === file ? text : script;
      const lines = new Set(before.split('\n'));
      const after = fix ? applyEdits(before, [fix.edit]).split('\n') : [];
      return fix ? [`${fix.title}: ${after.filter((line) => !lines.has(line)).join(' / ')}`] : [];
    }),
  );
}

test('a value is written into the layout, or into the script where the script writes it', () => {
  expect(fixes(layoutOf('  tp: 8\n  pp: 2\n', 'model: {num_layers: 48}\n'))).toEqual([
    'Change num_layers to 32, as train.sh says: model: {num_layers: 32}',
    'Change num_layers to 48 in train.sh, line 5:   --num-layers 48 --sequence-parallel',
  ]);
});

test('a key that the layout leaves out is inserted; a default of the script is written nowhere in it', () => {
  const script = SCRIPT.replace('--num-layers 32', '--expert-model-parallel-size 2');
  expect(fixes(layoutOf('  tp: 8\n  pp: 2\n  cp: 2 # twice\n'), script)).toEqual([
    'Change ep to 2, as train.sh says:   ep: 2',
    'Change ep to 1 in train.sh, line 5:   --expert-model-parallel-size 1 --sequence-parallel',
    'Change cp to 1, as train.sh says:   cp: 1 # twice',
  ]);
});

test('a change that would bring another difference, or not end this one, is not offered', () => {
  // TP also decides pp, and pp is computed
  expect(fixes(layoutOf('  tp: 4\n  pp: 2\n'))).toEqual(['Change tp to 8, as train.sh says:   tp: 8']);
  expect(fixes(layoutOf('  tp: 8\n  pp: 4\n'))).toEqual(['Change pp to 2, as train.sh says:   pp: 2']);
  // a bare flag has no value to change
  expect(fixes(layoutOf('  tp: 8\n  pp: 2\n', 'sequence: {sequence_parallel: false}\n'))).toEqual([
    'Change sequence_parallel to true, as train.sh says: sequence: {sequence_parallel: true}',
  ]);
});
