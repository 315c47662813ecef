import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordRun } from '../../cli/recordRun';
import { readLaunchFile } from '../../layout/launch';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-record-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function script(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('parallelism-layout-run-')).length;

test('what a script starts is recorded, also where it is computed, and nothing of it is really run', async () => {
  const text = `cd / && touch "$HOME/../../touched" ${folder}/touched
TP=$(seq 1 4 | tail -n 1)
WORDS=$(printf '%s' "--tensor-model-parallel-size $TP")
rm -rf ${folder}
srun --nodes 2 bash -c "torchrun --nproc-per-node 8 pretrain_gpt.py $WORDS --num-layers 8" | tee log.txt
my-own-launcher --flag 'a  b'
`;
  const before = folders();
  const { commands, notes } = await recordRun(script('train.sh', text));
  expect(commands.map(({ args }) => args)).toContainEqual(['my-own-launcher', '--flag', 'a  b']);
  expect(commands.map(({ args }) => args)).toContainEqual([
    ...['torchrun', '--nproc-per-node', '8', 'pretrain_gpt.py'],
    ...['--tensor-model-parallel-size', '4', '--num-layers', '8'],
  ]);
  expect(existsSync(folder)).toBe(true);
  expect(existsSync(join(folder, 'touched'))).toBe(false);
  expect(folders()).toBe(before);
  expect(notes[0]).toContain('was executed');

  const { family, values } = readLaunchFile('train.sh', text, () => null, { recorded: commands });
  const found = Object.fromEntries(values.map(({ key, value, source }) => [key, { value, source }]));
  expect(family).toBe('megatron-lm');
  expect(found['parallelism.tp']).toEqual({ value: 4, source: { file: 'train.sh', line: 3 } });
  expect(found['model.num_layers']).toMatchObject({ value: 8 });
});

test('the environment of the caller is not that of the script', async () => {
  process.env.PARALLELISM_LAYOUT_SECRET = 'secret';
  try {
    const { commands } = await recordRun(script('secret.sh', 'NNODES=2 torchrun "$PARALLELISM_LAYOUT_SECRET" x.py\n'));
    expect(commands[0]?.args).toEqual(['torchrun', '', 'x.py']);
    expect(commands[0]?.environment).toMatchObject({ NNODES: '2' });
    expect(commands[0]?.environment).not.toHaveProperty('PARALLELISM_LAYOUT_SECRET');
  } finally {
    delete process.env.PARALLELISM_LAYOUT_SECRET;
  }
});

test('a script that does not end is ended', async () => {
  const { notes } = await recordRun(script('endless.sh', 'while :; do :; done &\nwhile :; do :; done\n'), 200);
  expect(notes.at(-1)).toContain('ended after 0.2 s');
});

test.runIf(process.platform === 'linux')('a script is not run where its network cannot be taken away', async () => {
  await expect(recordRun(script('train.sh', 'torchrun x.py\n'), 200, [])).rejects.toThrow(
    '`unshare` cannot take the network from it. Install util-linux and allow user namespaces, or leave out --run',
  );
});
