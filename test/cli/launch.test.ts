import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cliProcess, cli as run } from '../harness/commandLine';

let folder = '';

const cli = (...args: string[]) => run(folder, ...args);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-launch-'));
  mkdirSync(join(folder, '.git'));
  const flags = '--tensor-model-parallel-size $TP --num-layers 8 --micro-batch-size $MBS --lr 1';
  const files = {
    'env-tp.sh': 'TP=4\n',
    'train.sh': `source env-tp.sh\ntorchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py ${flags}\n`,
    'same.layout.yaml':
      'layout: 1\nworld_size: 8\nlaunch: {family: megatron-lm, files: [train.sh]}\nparallelism: {tp: 4}\n',
    'wrong.layout.yaml': 'layout: 1\nworld_size: 16\nparallelism: {tp: 3}\n',
    'ignored.layout.yaml':
      'layout: 1\nworld_size: 8\nlaunch: {files: [train.sh]}\nparallelism: {tp: 2} # layout-ignore: launch-drift a trial\n',
    'other.layout.yaml': 'layout: 1\nworld_size: 16\nparallelism: {tp: 4}\nbatch: {micro_batch_size: 1}\n',
    'recipes.py':
      'def small():\n    cfg = base()\n    cfg.model.tensor_model_parallel_size = 2\n    return cfg\n' +
      'def large():\n    cfg = base()\n    cfg.model.tensor_model_parallel_size = 8\n    return cfg\n',
    'computed.sh':
      'TP=$(printf %s 2)\ntorchrun --nproc-per-node $(seq 8 8) pretrain_gpt.py --tensor-model-parallel-size $TP\n',
    'my.clusters.yaml':
      'clusters:\n  - {name: big, kind: slurm, partition: gpu, container_image: /i.sqsh, setup: [module load cuda], gpus_per_node: 0, ranks_per_node: 6, options: [--mem=0]}\n',
    binary: 'a\u0000b',
    'notes.sh': 'echo hello\n',
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('import prints one JSON object a file', async () => {
  const { status, stdout } = await cli('import', '--format', 'json', 'train.sh');
  const found = JSON.parse(stdout);
  expect(status).toBe(0);
  expect(found).toMatchObject({
    file: 'train.sh',
    family: 'megatron-lm',
    layout: { world_size: 8, parallelism: { tp: 4 } },
  });
  expect(found.values).toContainEqual({ key: 'parallelism.tp', value: 4, source: { file: 'env-tp.sh', line: 1 } });
  expect(found.values).toContainEqual({
    key: 'batch.micro_batch_size',
    value: null,
    source: 'unknown',
    looked_for: 'environment variable MBS',
  });
  expect(found.unmapped).toEqual([{ name: 'lr', value: '1', line: 2 }]);
});

test('import refuses what it cannot use and goes on with the rest', async () => {
  const { status, stdout, stderr } = await cli('import', 'binary', '.', 'absent', 'notes.sh', 'train.sh');
  expect(status).toBe(2);
  expect(stderr).toContain('binary: is not a text file');
  expect(stderr).toContain('.: is a directory');
  expect(stderr).toContain('absent: no such file');
  expect(stderr).toContain('notes.sh: No command that starts a training job was found.');
  expect(stdout).toContain('world_size: 8  # train.sh:2');
});

test('drift says where a layout and its launch file differ', async () => {
  expect(await cli('drift', 'same.layout.yaml')).toMatchObject({ status: 0, stderr: '' });
  const { status, stdout } = await cli('drift', 'other.layout.yaml', 'train.sh', '--format', 'json');
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject([
    {
      ok: false,
      differences: [{ key: 'world_size', layout: { value: 16, line: 2 }, launch: { value: 8 } }],
      unknown: [{ key: 'batch.micro_batch_size' }],
    },
  ]);
  expect(await cli('drift', 'ignored.layout.yaml')).toEqual({
    status: 0,
    stdout: 'ignored.layout.yaml and train.sh (megatron-lm): no difference, 1 ignored\n',
    stderr: '',
  });
  expect((await cli('drift', 'other.layout.yaml', 'train.sh', '--format', 'github')).stdout).toContain(
    '::error file=other.layout.yaml,line=2',
  );
});

test('drift takes layouts and folders, and writes what the launch files say', async () => {
  const job = join(folder, 'jobs');
  mkdirSync(join(job, 'deep'), { recursive: true });
  const layout = (tp: number, rest = '') =>
    `layout: 1\nworld_size: 8\nlaunch: {files: [${rest}train.sh]}\nparallelism: {tp: ${tp}}\n`;
  writeFileSync(join(job, 'train.sh'), 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2\n');
  writeFileSync(join(job, 'a.layout.yaml'), layout(2));
  writeFileSync(join(job, 'deep/b.layout.yaml'), layout(4, '../'));
  writeFileSync(join(job, 'unnamed.layout.yaml'), 'layout: 1\nworld_size: 8\n');
  const before = await cli('drift', 'jobs', 'same.layout.yaml');
  expect(before).toMatchObject({ status: 1, stderr: '' });
  expect(before.stdout.split('\n').filter((line) => line.includes('(megatron-lm)'))).toEqual([
    'jobs/a.layout.yaml and jobs/train.sh (megatron-lm): no difference',
    'jobs/deep/b.layout.yaml and jobs/train.sh (megatron-lm): 1 difference',
    'same.layout.yaml and train.sh (megatron-lm): no difference',
  ]);
  const sarif = JSON.parse((await cli('drift', 'jobs', '--format', 'sarif')).stdout);
  expect(sarif.runs[0].tool.driver).toMatchObject({
    name: 'parallelism-layout',
    version: JSON.parse(readFileSync('package.json', 'utf8')).version,
  });
  const fixed = await cli('drift', '--fix', 'jobs');
  expect(fixed).toMatchObject({ status: 0, stderr: '' });
  expect(fixed.stdout).toContain('jobs/deep/b.layout.yaml:4: fixed[launch-drift]: Change tp to 2, as train.sh says\n');
  expect(readFileSync(join(job, 'deep/b.layout.yaml'), 'utf8')).toBe(layout(2, '../'));
  expect((await cli('drift', 'jobs/deep', 'jobs/a.layout.yaml')).status).toBe(0);
});

test('check says where a layout differs from the launch files that it names', async () => {
  writeFileSync(
    join(folder, 'named.layout.yaml'),
    'layout: 1\nworld_size: 8\nlaunch: {files: [train.sh, no.sh]}\nparallelism: {tp: 2}\n',
  );
  const { status, stdout } = await cli('check', 'named.layout.yaml', 'ignored.layout.yaml');
  expect(status).toBe(0);
  expect(stdout).toContain(
    'named.layout.yaml:3:28: information[launch-drift]: This layout is not compared with no.sh: no such file or folder.',
  );
  expect(stdout).toContain('named.layout.yaml:4:19: warning[launch-drift]: env-tp.sh says tp 4');
  expect(stdout).toMatch(
    /= line 3: env-tp\.sh:\d+ sets parallelism\.tp\n +(. line .*\n +)*= fix: Change tp to 4, as train\.sh says/,
  );
  expect(stdout).not.toContain('ignored.layout.yaml:');
});

test('export writes what import reads', async () => {
  const { status, stdout } = await cli('export', 'same.layout.yaml', '--to', 'torchrun');
  expect(status).toBe(0);
  expect(stdout).toBe(
    'export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py \\\n    --tensor-model-parallel-size 4 \\\n    --bf16\n',
  );
  expect((await cli('export', 'same.layout.yaml', '--to', 'mimo-args')).status).toBe(2);
});

test('export refuses a layout with errors, and says what it chose and left out', async () => {
  const refused = await cli('export', 'wrong.layout.yaml', '--to', 'torchrun');
  expect(refused).toMatchObject({ status: 1, stdout: '' });
  expect(refused.stderr).toContain(
    'wrong.layout.yaml:3:19: error[dense-factorization]: tp 3 does not divide 16 ranks.',
  );
  const { status, stdout, stderr } = await cli('export', 'wrong.layout.yaml', '--to', 'sbatch', '--allow-errors');
  expect(status).toBe(0);
  expect(stdout).toContain('#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n');
  expect(stderr).toContain('The layout has no cluster; its 16 ranks are written as 2 x 8. Write cluster to choose.');
  expect(stderr).toContain('The script leaves out partition, account, time, container_image and setup');
});

test('--job chooses one of several recipes', async () => {
  const { stdout } = await cli('import', '--format', 'json', '--job', 'large', 'recipes.py');
  expect(JSON.parse(stdout)).toMatchObject({ family: 'megatron-bridge', layout: { parallelism: { tp: 8 } } });
  const both = JSON.parse((await cli('import', '--format', 'json', 'recipes.py')).stdout);
  expect(both.notes[0]).toContain('(small, large)');
});

test('--run executes a script and reads what it starts; without it what a program prints is unknown', async () => {
  const found = JSON.parse((await cli('import', '--format', 'json', '--run', 'computed.sh')).stdout);
  expect(found).toMatchObject({ family: 'megatron-lm', layout: { world_size: 8, parallelism: { tp: 2 } } });
  expect(found.notes[0]).toContain('was executed');
  const refused = await cli('import', '--run', 'recipes.py');
  expect(refused.stderr).toContain('--run executes shell scripts alone');
});

test('a job that the file does not have is refused', async () => {
  const { status, stdout, stderr } = await cli('import', '--job', 'medium', 'recipes.py');
  expect([status, stdout, stderr]).toEqual([
    2,
    '',
    'parallelism-layout: recipes.py: There is no job medium. The file has small, large.\n',
  ]);
});

test('--set gives variables of the environment, read or run', async () => {
  const given = ['--set', 'MBS=2', '--format', 'json'];
  const { values } = JSON.parse((await cli('import', ...given, 'train.sh')).stdout);
  expect(values).toContainEqual({ key: 'batch.micro_batch_size', value: 2, source: { file: '--set MBS', line: 1 } });
  expect(JSON.parse((await cli('import', '--run', ...given, 'train.sh')).stdout).layout.batch.micro_batch_size).toBe(2);
  const refused = await cli('import', '--set', 'MBS', 'train.sh');
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('Write NAME=value')]);
});

test('standard input becomes a layout that the check accepts', async () => {
  const script = 'torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2\n';
  const imported = await cliProcess(folder, ['import', '-'], { input: script });
  expect(imported.stdout).toContain('family: megatron-lm');
  expect(imported.stdout).not.toContain('files:');
  const checked = await cliProcess(folder, ['check', '-'], { input: imported.stdout });
  expect([checked.status, checked.stdout]).toEqual([0, '1 file checked: no problems\n']);
});

test('export writes the settings of a Slurm cluster', async () => {
  const { status, stdout } = await cli(
    'export',
    'same.layout.yaml',
    '--to',
    'sbatch',
    '--cluster',
    'big',
    '--clusters',
    'my.clusters.yaml',
  );
  expect(status).toBe(0);
  expect(stdout).toContain(
    '#SBATCH --nodes=2\n#SBATCH --ntasks=8\n#SBATCH --ntasks-per-node=6\n#SBATCH --partition=gpu\n#SBATCH --mem=0\n\nmodule load cuda\n',
  );
  expect(stdout).toContain(
    'srun --nodes=2 --ntasks=8 --ntasks-per-node=6 --distribution=block,Pack --container-image=/i.sqsh bash -c ',
  );
  expect(stdout).toContain(' bash python pretrain_gpt.py');
  const missing = await cli(
    'export',
    'same.layout.yaml',
    '--to',
    'sbatch',
    '--cluster',
    'small',
    '--clusters',
    'my.clusters.yaml',
  );
  expect(missing.status).toBe(2);
  expect(missing.stderr).toContain('there is no cluster small');
});
