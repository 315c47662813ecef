import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NODE } from '../harness/programs';
import { until } from '../harness/until';

const CLI = resolve('dist/cli.js');
const folder = mkdtempSync(join(tmpdir(), 'parallelism-layout-terminal-'));
afterAll(() => rmSync(folder, { recursive: true }));

function outputOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise((done, fail) => {
    const options = { cwd: folder, env: { ...process.env, HOME: folder, NO_COLOR: '1' }, timeout: 60_000 };
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      error ? fail(new Error(`${program}: ${error.message}\n${stderr}`)) : done(stdout),
    );
    child.stdin?.end();
  });
}

describe('completion', () => {
  beforeAll(async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      writeFileSync(join(folder, shell), await outputOf(NODE, [CLI, 'completion', shell]));
    }
  });

  /** What bash offers for the last word. */
  async function bash(...words: string[]): Promise<string[]> {
    const script = `. ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _parallelism_layout; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const printed = await outputOf('bash', ['-c', script, 'bash', 'parallelism-layout', ...words]);
    return printed.trim().split('\n');
  }

  /** What fish offers for the last word, without descriptions. */
  async function fish(line: string): Promise<string[]> {
    const printed = await outputOf('fish', ['-c', 'source fish; complete -C $argv[1]', '--', line]);
    return printed.split('\n').map((offered) => offered.split('\t')[0] ?? '');
  }

  test('bash offers commands, options, their values, and names to explain', async () => {
    expect(await bash('c')).toEqual(['check', 'compare', 'completion']);
    expect(await bash('check', '--f')).toEqual(['--format', '--fix']);
    expect(await bash('check', '--format', 'g')).toEqual(['github', 'gitlab']);
    expect(await bash('draw', '--view', 'gr')).toEqual(['groups']);
    expect(await bash('explain', 'dense-')).toEqual(['dense-factorization', 'dense-product', 'dense-mask-under-cp']);
    expect(await bash('check', '')).toEqual(['']);
  });

  test('fish offers commands, options, their values, and names to explain', async () => {
    expect(await fish('parallelism-layout c')).toEqual(expect.arrayContaining(['check', 'completion']));
    expect(await fish('parallelism-layout check --max')).toContain('--max-warnings');
    expect(await fish('parallelism-layout check --format s')).toContain('sarif');
    expect(await fish('parallelism-layout explain world-')).toContain('world-gap');
    expect(await fish('parallelism-layout groups --max')).not.toContain('--max-warnings');
  });

  test.each([
    ['', 'verify'],
    ['check --format ', 'text'],
    ['explain dense-', 'dense-product'],
  ])('zsh lists what can follow "%s"', async (line, offered) => {
    // a shell in a terminal of its own, as completion runs nowhere else
    const script = `
      zmodload zsh/zpty
      zpty inner zsh -f -i
      hear() { local out; zpty -r inner out "*$1*" && print -r -- "$out" }
      zpty -w inner "PROMPT=''; autoload -Uz compinit; compinit -D -u; source ./zsh; echo sour''ced"
      hear sourced > /dev/null
      zpty -n -w inner "parallelism-layout $1"$'\\t\\t'
      hear "$2"
      zpty -d inner`;
    expect(await outputOf('zsh', ['-f', '-c', script, 'zsh', line, offered])).toContain(offered);
  });
});

describe('check --watch', () => {
  const GOOD = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n';
  const WRONG = 'layout: 1\nworld_size: 8\nparallelism: {tp: 3}\n';

  test('checks again what is changed, added or configured, and ends by Ctrl-C', async () => {
    const watched = join(folder, 'watched');
    mkdirSync(watched);
    writeFileSync(join(watched, 'a.layout.yaml'), GOOD);
    const child = spawn(NODE, [CLI, 'check', '--watch', '.'], {
      cwd: watched,
      env: { ...process.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    const ended = once(child, 'close');
    const printed = (text: string) =>
      until(
        () => ({ out, waits: err.endsWith('watching for changes; Ctrl-C ends\n') }),
        ({ waits }) => waits && out.endsWith(text),
        text,
      );
    await printed('1 file checked: no problems\n');
    // as editors do it: the new text replaces the file
    writeFileSync(join(watched, 'a.tmp'), WRONG);
    renameSync(join(watched, 'a.tmp'), join(watched, 'a.layout.yaml'));
    await printed('1 file checked: 1 error\n');
    mkdirSync(join(watched, 'more'));
    writeFileSync(join(watched, 'more', 'b.layout.yaml'), GOOD);
    await printed('2 files checked: 1 error\n');
    writeFileSync(join(watched, 'more', 'b.layout.yaml'), WRONG);
    await printed('2 files checked: 2 errors\n');
    writeFileSync(join(watched, '.parallelism-layout.yaml'), 'rules: {dense-factorization: warning}\n');
    await printed('2 files checked: 2 warnings\n');
    child.kill('SIGINT');
    const [status] = await ended;
    expect({ status, err: err.replaceAll('parallelism-layout: watching for changes; Ctrl-C ends\n', '') }).toEqual({
      status: 0,
      err: '',
    });
  });

  test('takes files, not standard input', async () => {
    await expect(outputOf(NODE, [CLI, 'check', '--watch', '-'])).rejects.toThrow(
      '--watch takes files and folders, not standard input',
    );
  });
});
