import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { NODE } from '../harness/programs';

const GOOD = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n';
const WRONG = 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n';
const WARNED = 'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nparallelism: {tp: 16}\n';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-check-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(name: string, text: string): void {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(join(folder, name), text);
}

function check(args: readonly string[], input = '') {
  const options = { cwd: folder, input, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } } as const;
  const { status, stdout, stderr } = spawnSync(NODE, [resolve('dist/cli.js'), 'check', ...args], options);
  return { status, stdout, stderr };
}

test('a folder is every layout in it, without what .gitignore passes over', () => {
  put('b/one.layout.yaml', GOOD);
  put('a/two.layout.yml', GOOD);
  put('a/plain.yaml', GOOD);
  put('out/three.layout.yaml', WRONG);
  put('node_modules/x/four.layout.yaml', WRONG);
  put('a/generated.layout.yaml', WRONG);
  put('a/.gitignore', 'generated*\n');
  put('.gitignore', 'out/\n');
  const { status, stdout } = check(['--format', 'jsonl', '.']);
  const files = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).file);
  expect(files).toEqual(['a/two.layout.yml', 'b/one.layout.yaml']);
  expect(status).toBe(0);
});

test('a folder without a layout is unusable', () => {
  put('plain.yaml', GOOD);
  expect(check(['.'])).toEqual({
    status: 2,
    stdout: '',
    stderr: 'parallelism-layout: no layout file (*.layout.yaml) in .\n',
  });
});

test('standard input has the name that it is given', () => {
  const { status, stdout } = check(['--stdin-filename', 'jobs/x.layout.yaml', '--format', 'jsonl', '-'], WRONG);
  expect(JSON.parse(stdout).file).toBe('jobs/x.layout.yaml');
  expect(status).toBe(1);
});

test('quiet prints errors alone', () => {
  put('warned.layout.yaml', WARNED);
  expect(check(['warned.layout.yaml']).stdout).toContain('warning[tp-crosses-nvlink]');
  expect(check(['--quiet', 'warned.layout.yaml'])).toEqual({
    status: 0,
    stdout: '1 file checked: no errors\n',
    stderr: '',
  });
});

test('more warnings than are allowed end with 1', () => {
  put('warned.layout.yaml', WARNED);
  const { status, stderr } = check(['--max-warnings', '0', 'warned.layout.yaml']);
  expect(status).toBe(1);
  expect(stderr).toBe('parallelism-layout: too many warnings: 1; --max-warnings allows 0\n');
  expect(check(['--max-warnings', '1', 'warned.layout.yaml']).status).toBe(0);
});

test('fix writes what is safe', () => {
  put('x.layout.yaml', 'layout: 1\nworld_size: 8\nparalelism: {tp: 2} # mine\n');
  expect(check(['--fix', 'x.layout.yaml'])).toMatchObject({ status: 0, stdout: '1 file checked: no problems\n' });
  expect(readFileSync(join(folder, 'x.layout.yaml'), 'utf8')).toBe(
    'layout: 1\nworld_size: 8\nparallelism: {tp: 2} # mine\n',
  );
});

test('fix leaves what has several ways out; with unsafe it takes the first', () => {
  put('x.layout.yaml', WRONG);
  expect(check(['--fix', 'x.layout.yaml']).status).toBe(1);
  expect(readFileSync(join(folder, 'x.layout.yaml'), 'utf8')).toBe(WRONG);
  expect(check(['--fix', '--unsafe', 'x.layout.yaml']).status).toBe(0);
  expect(readFileSync(join(folder, 'x.layout.yaml'), 'utf8')).toBe(GOOD);
  expect(check(['--unsafe', 'x.layout.yaml'])).toMatchObject({ status: 2 });
});

test('standard input is never written, also where a file has its name', () => {
  put('x.layout.yaml', GOOD);
  check(['--fix', '--unsafe', '--stdin-filename', 'x.layout.yaml', '-'], WRONG);
  expect(readFileSync(join(folder, 'x.layout.yaml'), 'utf8')).toBe(GOOD);
});

test('colours as asked', () => {
  expect(check(['--color', 'always', '-'], WRONG).stdout).toContain('\u001b[31m');
  expect(check(['-'], WRONG).stdout).not.toContain('\u001b[');
});

test('the code quality report of GitLab', () => {
  put('x.layout.yaml', WRONG);
  const { status, stdout } = check(['--format', 'gitlab', 'x.layout.yaml']);
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toEqual([
    {
      description: 'tp 3 does not divide 8 ranks. Use tp 1, 2 or 4.',
      check_name: 'dense-factorization',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      severity: 'critical',
      location: { path: 'x.layout.yaml', lines: { begin: 3 } },
    },
  ]);
});

test('the hook of pre-commit and the action of GitHub name commands that exist', () => {
  const hooks = parse(readFileSync('.pre-commit-hooks.yaml', 'utf8'));
  const action = parse(readFileSync('action.yml', 'utf8'));
  expect(hooks).toMatchObject([{ entry: 'parallelism-layout check', language: 'system' }]);
  const [readme = ''] = /^repos:\n[^`]*/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  expect(parse(readme).repos[0].hooks).toMatchObject([{ entry: 'parallelism-layout check', files: hooks[0].files }]);
  expect('jobs/a.layout.yaml').toMatch(new RegExp(hooks[0].files));
  expect(action.runs.using).toBe('composite');
  const script = action.runs.steps.map(({ run }: { run?: string }) => run ?? '').join('\n');
  expect(script).toContain('parallelism-layout check --format github');
  // inputs reach the shell as variables, never as text of the script
  expect(script).not.toContain('${{');
});
