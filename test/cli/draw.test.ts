import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, cliProcess } from '../harness/commandLine';

let folder = '';

const draw = (...args: string[]) => cli(folder, 'draw', ...args);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-draw-'));
  const files = {
    'good.layout.yaml':
      'layout: 1\nname: <good>\nworld_size: 64\ncluster: {nodes: 8, gpus_per_node: 8}\nparallelism: {tp: 4, pp: 4}\nmodel: {num_layers: 32}\n',
    'bad.layout.yaml': 'layout: 1\nworld_size: 16\nparallelism:\n  tp: 8\n  pp: 3\n',
    'vast.layout.yaml': 'layout: 1\nworld_size: 1073741824\nparallelism: {tp: 8}\n',
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
  }
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('draw', () => {
  test.each([
    ['where', '4 pipeline stages of 2 nodes each; tensor parallelism stays inside every node.'],
    ['structure', '4 pipeline stages × 4 replicas × 4 tensor-parallel ranks'],
    ['groups', 'tp: 16 groups of 4 ranks; every group stays inside one node.'],
  ])('the view %s, with its answer, the degrees and the layers of stages', async (view, title) => {
    const { status, stdout, stderr } = await draw('good.layout.yaml', '--view', view);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(`>${title}</text>`);
    expect(stdout).toContain('&lt;good&gt; · 64 ranks on 8 nodes of 8 GPUs · tp 4 × dp 4 × pp 4');
    expect(stdout).toContain('layers 24 – 31');
  });

  test('into a file', async () => {
    const done = await draw('good.layout.yaml', '--view', 'groups', '--group', 'dp', '-o', 'dp.svg');
    expect(done).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(join(folder, 'dp.svg'), 'utf8')).toContain(
      '>dp: 16 groups of 4 ranks; every group crosses 2 nodes.<',
    );
  });

  test.each([
    [['bad.layout.yaml'], 1, 'bad.layout.yaml:5: tp 8 x pp 3 = 24 ranks a replica'],
    [['missing.layout.yaml'], 2, 'no such file'],
    [['vast.layout.yaml'], 2, '1,073,741,824 ranks are too many to list'],
    [['good.layout.yaml', '--view', 'failures'], 2, 'no rank is spare or failed'],
    [['good.layout.yaml', '--view', 'nonsense'], 2, 'Allowed choices are where, structure'],
    [['good.layout.yaml', '--colour', 'zz'], 2, 'no colouring is called zz; there is tp, dp, pp'],
    [['good.layout.yaml', '--group', 'zz'], 2, 'no process group with peers is called zz'],
    [['good.layout.yaml', '-o', 'bad.layout.yaml/x.svg'], 2, 'bad.layout.yaml/x.svg: '],
    [['good.layout.yaml', '-o', 'x.jpg'], 2, 'x.jpg ends in .jpg; write .svg, .png or .csv, or give --format'],
    [
      ['good.layout.yaml', '-o', 'x.svg', '--format', 'png'],
      2,
      'x.svg ends in .svg, but --format is png; leave --format out, or write .png',
    ],
    [['good.layout.yaml', '-o', 'x.csv'], 2, 'only the view table is written as csv'],
    [['good.layout.yaml', '--view', 'tokens'], 2, 'the file does not say how long sequences are'],
    [['good.layout.yaml', '--view', 'table', '--format', 'svg'], 2, 'the table is written as csv'],
    [['good.layout.yaml', '--format', 'csv'], 2, 'only the view table is written as csv'],
  ])('says what is wrong: %j', async (args, status, message) => {
    const done = await draw(...args);
    expect(done.status).toBe(status);
    expect(done.stderr).toContain(message);
    expect(done.stdout).toBe('');
  });

  test.each([
    ['cost', 'The cost is not known: the layout lacks model.hidden_size'],
    ['world', 'One grid uses every rank.'],
  ])('the view %s is a diagram', async (view, title) => {
    const { status, stdout, stderr } = await draw('good.layout.yaml', '--view', view);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(`>${title}`);
    expect(stdout).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });

  test('diagrams cost the same at every size of world', async () => {
    const { status, stdout } = await draw('vast.layout.yaml', '--view', 'world');
    expect(status).toBe(0);
    expect(stdout).toContain('>0 – 1,073,741,823<');
  });

  test('the table as comma-separated values', async () => {
    const { status, stdout } = await draw('good.layout.yaml', '--view', 'table');
    expect(status).toBe(0);
    expect(stdout.split('\n')).toHaveLength(66);
    const output = join('new.csv', 'folder', 'ranks.csv');
    const saved = await draw('good.layout.yaml', '--view', 'table', '-o', output);
    expect(saved).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(join(folder, output), 'utf8')).toBe(stdout);
  });

  test.each([
    ['.png', []],
    ['.PNG', []],
    ['.picture', ['--format', 'png']],
  ])('PNG, where the library for it is installed, into a new folder: %s %j', async (ending, options) => {
    const output = join(`new${ending}`, 'folder', `good${ending}`);
    const done = await draw('good.layout.yaml', '-o', output, ...options);
    expect(done).toEqual({ status: 0, stdout: '', stderr: '' });
    const png = readFileSync(join(folder, output));
    expect(png.subarray(1, 4).toString('latin1')).toBe('PNG');
    expect(png.readUInt32BE(16)).toBeGreaterThan(1000);
  });

  test('PNG, where the library is not installed: says what to do', async () => {
    const alone = join(folder, 'alone');
    cpSync(resolve('dist'), alone, { recursive: true, filter: (path) => !path.endsWith('.map') });
    const program = join(alone, 'cli.js');
    const done = await cliProcess(folder, ['draw', 'good.layout.yaml', '--format', 'png'], { program });
    expect(done.status).toBe(2);
    expect(done.stderr).toContain(
      "PNG needs @resvg/resvg-js: run 'npm install --global @resvg/resvg-js' (without --global where a project has this tool), or write SVG",
    );
  });
});

test('plan --plot draws all layouts that fit beside the one of the file, of one machine', async () => {
  cpSync(resolve('examples/moe-64gpu.layout.yaml'), join(folder, 'moe.layout.yaml'));
  const { status, stdout, stderr } = await cli(folder, 'plan', 'moe.layout.yaml', '--plot', 'plots/moe.svg');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain('layouts fit');
  const svg = readFileSync(join(folder, 'plots/moe.svg'), 'utf8');
  const fit = /^moe.layout.yaml: (\d+) layouts fit/.exec(stdout)?.[1];
  expect(svg).toMatch(new RegExp(`<title>${fit} layouts fit; `));
  expect(svg).toContain('>this layout</text>');
  expect(svg).toContain('>80 GiB a GPU</text>');
  const several = await cli(folder, 'plan', 'moe.layout.yaml', '--gpus', '64,128', '--plot', 'two.svg');
  expect(several).toEqual({
    status: 2,
    stdout: '',
    stderr: 'parallelism-layout: --plot draws the layouts of one machine; name one number of GPUs and one kind\n',
  });
});

test.runIf(process.platform === 'linux')(
  'a picture that cannot be written says so, also where the system makes no folders',
  async () => {
    const { status, stderr } = await draw('good.layout.yaml', '-o', '/proc/nowhere/where.svg');
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'parallelism-layout: /proc/nowhere/where.svg: no such file or folder\n',
    });
  },
);

test('a plan of a file that cannot be read says what is wrong in it', async () => {
  writeFileSync(join(folder, 'broken.layout.yaml'), 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 2\n pp: 2\n');
  const { status, stderr } = await cli(folder, 'plan', 'broken.layout.yaml');
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      "parallelism-layout: broken.layout.yaml:5: 'pp' is indented 1 space; its neighbour 'tp' is indented 2. 'parallelism-layout check' shows the fixes.\n",
  });
});
