import { expect, test } from 'vitest';
import { applyEdits } from '../format/edit';
import { launchFilesEdit, writeFlags } from './layoutEdits';
import { readLaunchFile } from './read';

const LAYOUT = `layout: 1
world_size: 16 # two nodes
parallelism:
  tp: 2 # within a node
  pp: 2
`;

test.each([
  ['--tensor-model-parallel-size 4 --context-parallel-size 2', ['parallelism.tp', 'parallelism.cp']],
  ['  --tensor-model-parallel-size 4 \\\n  --context-parallel-size=2 \\\n', ['parallelism.tp', 'parallelism.cp']],
  ['--tensor-model-parallel-size 4\n--context-parallel-size 2', ['parallelism.tp', 'parallelism.cp']],
])('pasted flags become keys: %j', (flags, keys) => {
  expect(writeFlags(LAYOUT, flags)).toEqual({
    keys,
    text: LAYOUT.replace('tp: 2', 'tp: 4').replace('pp: 2\n', 'pp: 2\n  cp: 2\n'),
  });
});

test('a section that is missing is written; flags without a key are left out', () => {
  const written = writeFlags(LAYOUT, '--num-layers 32 --hidden-size 4096 --lr 1e-4 --bf16');
  expect(written?.keys).toEqual(['model.num_layers', 'model.hidden_size', 'model.params_dtype']);
  expect(written?.text.slice(LAYOUT.length)).toBe(
    'model:\n  num_layers: 32\n  hidden_size: 4096\n  params_dtype: bf16\n',
  );
});

test('an empty file becomes a layout', () => {
  expect(
    writeFlags('\n', 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --context-parallel-size 2')?.text,
  ).toBe(
    'layout: 1\nworld_size: 8\ncluster:\n  nodes: 1\n  gpus_per_node: 8\nparallelism:\n  cp: 2\nmodel:\n  num_layers: 32\n',
  );
});

test.each(['hello --world', '# a comment', 'tp: 4', '', '--lr 1'])(
  'a text that sets nothing is no flags: %j',
  (text) => {
    expect(writeFlags(LAYOUT, text)).toBeNull();
  },
);

const reading = readLaunchFile('train.sh', 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8', () => null);
const named = (text: string, ...names: string[]) => {
  const edit = launchFilesEdit(text, names, reading);
  return edit && applyEdits(text, [edit]);
};

test('launch files are named in front of the grids, and beside others', () => {
  const once = named(LAYOUT, '../train.sh');
  expect(once).toBe(LAYOUT.replace('parallelism', 'launch: {family: megatron-lm, files: [../train.sh]}\nparallelism'));
  expect(once && named(once, '../train.sh', 'a b: c.sh')).toBe(
    LAYOUT.replace('parallelism', 'launch: {family: megatron-lm, files: [../train.sh, "a b: c.sh"]}\nparallelism'),
  );
  expect(once && named(once, '../train.sh')).toBeNull();
  expect(named('layout: 1\nlaunch:\n  family: verl\nworld_size: 8\n', 'a.sh')).toBe(
    'layout: 1\nlaunch:\n  family: verl\n  files: [a.sh]\nworld_size: 8\n',
  );
  expect(named('layout: 1\n', 'a.sh')).toBe('layout: 1\nlaunch: {family: megatron-lm, files: [a.sh]}\n');
  expect(named('- 1\n', 'a.sh')).toBeNull();
});
