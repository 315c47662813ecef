import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NODE } from '../harness/programs';

const CLI = resolve('dist/cli.js');

let folder = '';

/** Runs the built command line in a folder of its own. */
function draw(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    const child = execFile(
      NODE,
      [CLI, 'draw', ...args],
      { cwd: folder, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, NO_COLOR: '1' } },
      (_, stdout, stderr) => done({ status: child.exitCode ?? -1, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

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
    [['bad.layout.yaml'], 1, 'the layout has errors'],
    [['missing.layout.yaml'], 2, 'no such file'],
    [['vast.layout.yaml'], 2, '1,073,741,824 ranks are more than can be listed'],
    [['good.layout.yaml', '--view', 'failures'], 2, 'no rank is spare or failed'],
    [['good.layout.yaml', '--view', 'nonsense'], 2, 'Allowed choices are where, structure'],
    [['good.layout.yaml', '--colour', 'zz'], 2, 'no colouring is called zz; there is tp, dp, pp'],
    [['good.layout.yaml', '--group', 'zz'], 2, 'no process group with peers is called zz'],
    [['good.layout.yaml', '-o', 'no/such/folder.svg'], 2, 'no/such/folder.svg'],
    [['good.layout.yaml', '--format', 'png'], 2, 'PNG needs @resvg/resvg-js'],
  ])('says what is wrong: %j', async (args, status, message) => {
    const done = await draw(...args);
    expect(done.status).toBe(status);
    expect(done.stderr).toContain(message);
    expect(done.stdout).toBe('');
  });
});
