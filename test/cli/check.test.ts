import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cli, cliProcess } from '../harness/commandLine';

const GOOD = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n';
const WRONG = 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n';
const WARNED = 'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nparallelism: {tp: 16}\n';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-check-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(name: string, data: string | Uint8Array): void {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(join(folder, name), data);
}

const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const check = (...args: readonly string[]) => cli(folder, 'check', ...args);
const checkInput = (input: string, ...args: readonly string[]) => cliProcess(folder, ['check', ...args], { input });
const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('files', () => {
  test('a clean file exits with 0', async () => {
    put('x.layout.yaml', GOOD);
    expect(await check('x.layout.yaml')).toEqual({ status: 0, stdout: '1 file checked: no problems\n', stderr: '' });
  });

  test('an error shows the line with a caret, the predicted error and the fixes, and exits with 1', async () => {
    put('x.layout.yaml', 'layout: 1\nworld_size: 16\nparallelism:\n  tp: 8\n  pp: 3\n');
    const { status, stdout } = await check('x.layout.yaml');
    expect(status).toBe(1);
    expect(stdout.split('\n').slice(0, 8)).toEqual([
      'x.layout.yaml:5:7: error[dense-factorization]: tp 8 x pp 3 = 24 ranks a replica, which does not divide 16. Use pp 1 or 2.',
      '  |',
      '5 |   pp: 3',
      '  |       ^',
      '  = Megatron-LM: world_size (16) is not divisible by 24',
      '  = line 2: world_size is 16 here',
      '  = line 4: tp is 8 here',
      '  = fix: Change pp to 2',
    ]);
  });

  test('unusable files are named, the others are checked, and the status is 2', async () => {
    put('binary.layout.yaml', Uint8Array.of(0, 1, 2, 255, 254));
    put('latin1.layout.yaml', Uint8Array.of(0x6c, 0xe9, 0x3a, 0x20, 0x31));
    put('wrong.layout.yaml', WRONG);
    const names = ['missing.layout.yaml', 'binary.layout.yaml', 'latin1.layout.yaml', 'wrong.layout.yaml'];
    const { status, stdout, stderr } = await check('--format', 'jsonl', ...names);
    expect(status).toBe(2);
    expect(jsonLines(stdout).map(({ file, findings }) => [file, findings.length])).toEqual(
      names.map((name) => [name, name === 'wrong.layout.yaml' ? 1 : 0]),
    );
    expect(stderr).toBe(
      [
        'parallelism-layout: missing.layout.yaml: no such file or folder\n',
        'parallelism-layout: binary.layout.yaml: is not a text file\n',
        'parallelism-layout: latin1.layout.yaml: is not UTF-8 text\n',
      ].join(''),
    );
  });

  test('an empty file and one of ten megabytes are errors', async () => {
    put('empty.layout.yaml', '');
    put('huge.layout.yaml', `# ${'x'.repeat(10 * 1024 * 1024)}\nlayout: 1\n`);
    const { status, stdout } = await check('--format', 'jsonl', 'empty.layout.yaml', 'huge.layout.yaml');
    expect(status).toBe(1);
    const codes = jsonLines(stdout).map(({ findings }) => findings.map(({ code }: { code: string }) => code));
    expect(codes).toEqual([['missing-key'], ['file-too-large']]);
  });

  test('a folder stands for every layout in it that .gitignore does not exclude', async () => {
    put('b/one.layout.yaml', GOOD);
    put('a/two.layout.yml', GOOD);
    put('a/plain.yaml', GOOD);
    put('out/three.layout.yaml', WRONG);
    put('node_modules/x/four.layout.yaml', WRONG);
    put('a/generated.layout.yaml', WRONG);
    put('a/.gitignore', 'generated*\n');
    put('.gitignore', 'out/\n');
    const { status, stdout } = await check('--format', 'jsonl', '.');
    expect(jsonLines(stdout).map(({ file }) => file)).toEqual(['a/two.layout.yml', 'b/one.layout.yaml']);
    expect(status).toBe(0);
  });

  test('a folder without a layout is unusable', async () => {
    put('plain.yaml', GOOD);
    const stderr = 'parallelism-layout: no layout file (*.layout.yaml) in .\n';
    expect(await check('.')).toEqual({ status: 2, stdout: '', stderr });
  });

  test.skipIf(process.platform === 'win32')('a folder that cannot be read is named; others are checked', async () => {
    put('good/x.layout.yaml', GOOD);
    put('closed/y.layout.yaml', GOOD);
    // root reads every folder
    const isRoot = process.getuid?.() === 0;
    chmodSync(folder, 0o755);
    chmodSync(join(folder, 'closed'), 0);
    process.seteuid?.(isRoot ? 65_534 : (process.geteuid?.() ?? 0));
    const done = await check('.').finally(() => {
      if (isRoot) {
        process.seteuid?.(0);
      }
      // what an ordinary user cannot read, that user cannot remove
      chmodSync(join(folder, 'closed'), 0o755);
    });
    const stderr = 'parallelism-layout: closed: permission denied\n';
    expect(done).toEqual({ status: 2, stdout: '1 file checked: no problems\n', stderr });
  });
});

describe('options', () => {
  test('an unknown option is refused with the usage', async () => {
    const { status, stderr } = await check('--formt', 'json', 'x.layout.yaml');
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: "error: unknown option '--formt'\n(Did you mean --format?)\n(run with --help for the usage)\n",
    });
  });

  test('quiet prints errors only', async () => {
    put('x.layout.yaml', WARNED);
    expect((await check('x.layout.yaml')).stdout).toContain('warning[tp-crosses-nvlink]');
    const stdout = '1 file checked: no errors\n';
    expect(await check('--quiet', 'x.layout.yaml')).toEqual({ status: 0, stdout, stderr: '' });
  });

  test('more warnings than allowed exit with 1', async () => {
    put('x.layout.yaml', WARNED);
    const { status, stderr } = await check('--max-warnings', '0', 'x.layout.yaml');
    expect(status).toBe(1);
    expect(stderr).toBe('parallelism-layout: too many warnings: 1; --max-warnings allows 0\n');
    expect((await check('--max-warnings', '1', 'x.layout.yaml')).status).toBe(0);
  });

  test('fix writes safe fixes', async () => {
    put('x.layout.yaml', 'layout: 1\nworld_size: 8\nparalelism: {tp: 2} # mine\n');
    const { stdout: before } = await check('x.layout.yaml');
    expect(before).toContain('  = fix: Rename to parallelism [*]\n');
    expect(before).toMatch(/\n\[\*\] --fix writes 1 fix\n1 file checked: 1 error\n$/);
    expect(await check('--fix', 'x.layout.yaml')).toEqual({
      status: 0,
      stdout: 'x.layout.yaml:3: fixed[unknown-key]: Rename to parallelism\n1 file checked: no problems; 1 fixed\n',
      stderr: '',
    });
    expect(read('x.layout.yaml')).toBe('layout: 1\nworld_size: 8\nparallelism: {tp: 2} # mine\n');
  });

  test.each([
    ['train.sh', 'torchrun pretrain_gpt.py\n', 'is a script, not a layout: '],
    ['train', '#!/bin/sh\n', 'is a script, not a layout: '],
    ['train.py', 'import torch\n', 'is a script, not a layout: '],
    ['job.toml', '[parallelism]\n', 'is TOML, not a layout: '],
    [
      'package.json',
      JSON.stringify({ scripts: 'x'.repeat(40_000) }, null, 2),
      'is JSON without the key layout, so not a layout. If it configures a job, ',
    ],
  ])('%s is no layout: the command to run is said', async (name, text, what) => {
    put(name, text);
    const commands = `'parallelism-layout import ${name}' writes its layout, and 'parallelism-layout drift LAYOUT ${name}' compares it with one`;
    expect(await check(name)).toEqual({
      status: 2,
      stdout: '0 files checked, 1 not usable\n',
      stderr: `parallelism-layout: ${name}: ${what}${commands}\n`,
    });
  });

  test('a layout may be JSON', async () => {
    put('x.json', '{"layout": 1, "world_size": 8, "parallelism": {"tp": 2}}');
    expect(await check('x.json')).toEqual({ status: 0, stdout: '1 file checked: no problems\n', stderr: '' });
  });

  test('fix leaves an error that has several fixes; with unsafe it applies the first', async () => {
    put('x.layout.yaml', WRONG);
    expect((await check('--fix', 'x.layout.yaml')).status).toBe(1);
    expect(read('x.layout.yaml')).toBe(WRONG);
    expect((await check('--fix', '--unsafe', 'x.layout.yaml')).status).toBe(0);
    expect(read('x.layout.yaml')).toBe(GOOD);
    expect(await check('--unsafe', 'x.layout.yaml')).toMatchObject({ status: 2 });
  });

  test('colours follow --color, NO_COLOR and FORCE_COLOR', async () => {
    put('x.layout.yaml', WRONG);
    const red = '\u001b[31m';
    expect((await check('--color', 'always', 'x.layout.yaml')).stdout).toContain(red);
    const isRed = async (env: NodeJS.ProcessEnv) =>
      (await cliProcess(folder, ['check', 'x.layout.yaml'], { env })).stdout.includes(red);
    expect(await isRed({ NO_COLOR: '', FORCE_COLOR: '1' })).toBe(true);
    expect(await isRed({ NO_COLOR: '1', FORCE_COLOR: '1' })).toBe(false);
    expect(await isRed({ NO_COLOR: '', FORCE_COLOR: '' })).toBe(false);
  });
});

describe('standard input', () => {
  test('has the name that it is given, and a file of that name is never written', async () => {
    put('x.layout.yaml', GOOD);
    const args = ['--fix', '--unsafe', '--stdin-filename', 'x.layout.yaml', '--format', 'jsonl', '-'];
    expect(await checkInput(WRONG, ...args)).toMatchObject({ status: 2, stdout: '' });
    const { status, stdout } = await checkInput(WRONG, ...args.slice(2));
    expect([status, JSON.parse(stdout).file, read('x.layout.yaml')]).toEqual([1, 'x.layout.yaml', GOOD]);
  });

  test('is read only once', async () => {
    const { status, stderr } = await checkInput(GOOD, '--format', 'json', '-', '-');
    expect([status, stderr]).toEqual([2, 'parallelism-layout: -: standard input can be read only once\n']);
  });
});

test('github prints workflow commands', async () => {
  put('x.layout.yaml', WRONG);
  expect((await check('--format', 'github', 'x.layout.yaml')).stdout).toMatch(
    /^::error file=x\.layout\.yaml,line=3,endLine=3,col=19,endColumn=20,title=dense-factorization::.*%0AMegatron-LM: /,
  );
});

test('sarif has the place, the rule and the fixes of a diagnostic, and says that a file is missing', async () => {
  put('x.layout.yaml', WRONG);
  const [run] = JSON.parse((await check('--format', 'sarif', 'x.layout.yaml', 'missing.layout.yaml')).stdout).runs;
  const [result] = run.results;
  expect(run.results).toHaveLength(1);
  expect(result.locations[0].physicalLocation.region).toEqual({
    ...{ startLine: 3, startColumn: 19, endLine: 3, endColumn: 20 },
  });
  expect(result.fixes.length).toBeGreaterThan(0);
  expect(run.invocations[0].executionSuccessful).toBe(false);
});

test('gitlab prints a code quality report', async () => {
  put('x.layout.yaml', WRONG);
  const { status, stdout } = await check('--format', 'gitlab', 'x.layout.yaml');
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

describe('a configuration in a folder above the layout', () => {
  const checked = async (configuration: string) => {
    put('.parallelism-layout.yaml', configuration);
    put('jobs/x.layout.yaml', WRONG);
    const { stdout, ...done } = await check('--format', 'json', 'jobs/x.layout.yaml');
    return {
      ...done,
      severities: JSON.parse(stdout)[0].findings.map(({ severity }: { severity: string }) => severity),
    };
  };

  test.each([
    ['warning', ['warning']],
    ['off', []],
  ])('sets a rule to %s, and the exit status follows', async (level, severities) => {
    expect(await checked(`rules: {dense-factorization: ${level}}\n`)).toEqual({ severities, status: 0, stderr: '' });
  });

  test.each([
    ['rules: {dense-factorisation: off}\n', "there is no rule 'dense-factorisation'"],
    ['rules: {dense-factorization: never}\n', 'dense-factorization must be off, information, warning or error'],
    ['rule: {}\n', "has no key 'rule'; it has rules"],
    ['- 1\n', 'must be a map with the key rules'],
    ['rules: [\n', "A '[' is not closed."],
  ])('%j is refused in words', async (configuration, reason) => {
    const { severities, status, stderr } = await checked(configuration);
    expect([severities, status]).toEqual([['error'], 2]);
    expect(stderr).toContain(reason);
  });
});

test('the hook of pre-commit builds in a checkout that has its packages, and leaves them as they are', () => {
  put('node_modules/.package-lock.json', '{}');
  put('dist/.keep', '');
  const build = `echo 'console.log(process.argv.slice(2).join())' > dist/cli.js`;
  put('package.json', JSON.stringify({ scripts: { build } }));
  put('scripts/pre-commit', readFileSync('scripts/pre-commit'));
  const { stdout } = spawnSync('sh', [join(folder, 'scripts/pre-commit'), 'check', 'a'], { encoding: 'utf8' });
  expect(stdout).toBe('check,a\n');
  expect(readdirSync(join(folder, 'node_modules'))).toEqual(['.package-lock.json']);
});

test('the hook of pre-commit and the action of GitHub name commands that exist', () => {
  const hooks = parse(readFileSync('.pre-commit-hooks.yaml', 'utf8'));
  const action = parse(readFileSync('action.yml', 'utf8'));
  expect(hooks).toMatchObject([{ id: 'parallelism-layout', language: 'script' }]);
  const { stdout } = spawnSync(`${hooks[0].entry} examples`, { shell: true, encoding: 'utf8' });
  expect(stdout).toContain('7 files checked: ');
  const shown = [...readFileSync('README.md', 'utf8').matchAll(/^repos:\n[^`]*/gm)].map(
    ([text]) => parse(text).repos[0],
  );
  expect(shown.map(({ hooks: [hook] }) => hook.id)).toEqual(['parallelism-layout', 'parallelism-layout']);
  expect(shown[1].hooks).toMatchObject([{ entry: 'parallelism-layout check', files: hooks[0].files }]);
  const [workflow = ''] = /^on: pull_request\n[^`]*/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
  const [name] = /[^/]+\/[^/]+(?=\.git$)/.exec(repository.url) ?? [];
  const { uses, with: inputs } = parse(workflow).jobs.layouts.steps.at(-1);
  expect(uses).toBe(`${name}@v${version}`);
  expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(Object.keys(inputs)));
  expect('jobs/a.layout.yaml').toMatch(new RegExp(hooks[0].files));
  expect(action.runs.using).toBe('composite');
  const script = action.runs.steps.map(({ run }: { run?: string }) => run ?? '').join('\n');
  expect(script).toContain('parallelism-layout check --format github');
  // inputs reach the shell as variables, never as text of the script
  expect(script).not.toContain('${{');
});
