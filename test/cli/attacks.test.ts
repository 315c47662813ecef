import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const CLI = resolve('dist/cli.js');

const folder = mkdtempSync(join(tmpdir(), 'cli-attacks-'));
afterAll(() => rmSync(folder, { recursive: true }));

function call(words: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...words], {
    cwd: folder,
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

/** What a terminal obeys, or what turns text around. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
const COMMANDS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

/** A log of CI takes these for commands of its own. */
const CI_COMMANDS = /^\s*::|##\[|##vso\[/m;

const NAME = '\u001b]52;c;eA==\u0007\u001b]8;;https://x\u0007a\u009b31m\n::error::forged\n##[error]forged \u202e';

/** Windows has none of what these attacks use: control characters in names, named pipes, SIGPIPE. */
const onPosix = describe.skipIf(process.platform === 'win32');

onPosix('names from a file', () => {
  const module = JSON.stringify(NAME);
  const clean = `layout: 1\nworld_size: 4\nmodules:\n  language: {tp: 2, num_ranks: 2}\n  ${module}: {tp: 2, num_ranks: 2, rank_offset: 2}\nsequence: {seq_length: 64}\n`;
  const broken = clean.replace('rank_offset: 2', 'rank_offset: 1').replace('layout: 1', `layout: 1\n${module}: 1`);
  const files = {
    'clean.layout.yaml': clean,
    'broken.layout.yaml': broken,
    [`::error ::${NAME.replaceAll('/', '')}.layout.yaml`]: broken,
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
  }

  test.each(['text', 'json', 'jsonl', 'sarif'])('command nothing in `check --format %s`', (format) => {
    for (const file of Object.keys(files)) {
      const { stdout, stderr } = call(['check', '--format', format, '--', file]);
      expect(stdout + stderr).not.toMatch(COMMANDS);
      expect(stdout + stderr).not.toMatch(CI_COMMANDS);
    }
  });

  test.each(['groups', 'sequence', 'ntp', 'stages', 'estimate', 'plan', 'draw'])(
    'command nothing in `%s`',
    (command) => {
      for (const file of Object.keys(files)) {
        const { stdout, stderr } = call([command, '--', file]);
        expect(stdout + stderr).not.toMatch(COMMANDS);
        expect(stdout + stderr).not.toMatch(CI_COMMANDS);
      }
    },
  );

  test('are one command each for GitHub', () => {
    const { findings } = JSON.parse(call(['check', '--format', 'jsonl', 'broken.layout.yaml']).stdout);
    const lines = call(['check', '--format', 'github', 'broken.layout.yaml']).stdout.trimEnd().split('\n');
    expect(lines.filter((line) => !/^::(error|warning|notice) file=broken/.test(line))).toEqual([]);
    expect(lines).toHaveLength(findings.length);
  });
});

onPosix('a file that is no regular file', () => {
  test.each(['check', 'groups', 'ntp', 'sequence', 'import'])('is refused by `%s` before it is read', (command) => {
    const device = join(folder, `${command}-device.layout.yaml`);
    symlinkSync('/dev/zero', device);
    const fifo = join(folder, `${command}-fifo.layout.yaml`);
    execFileSync('mkfifo', [fifo]);
    const directory = join(folder, `${command}-directory.layout.yaml`);
    mkdirSync(directory);
    for (const [file, reason] of [
      [device, 'is no regular file'],
      [fifo, 'is no regular file'],
      [directory, command === 'check' ? 'no layout file (*.layout.yaml) in ' : 'is a directory'],
    ] as const) {
      const { status, stderr } = call([command, file]);
      expect(stderr).toContain(reason);
      expect(status).toBe(2);
    }
  });

  test('is refused as a cluster file', () => {
    writeFileSync(join(folder, 'two.layout.yaml'), 'layout: 1\nworld_size: 2\nparallelism: {tp: 2}\n');
    const { status, stderr } = call(['smoke', '--clusters', '/dev/zero', 'two.layout.yaml']);
    expect(stderr).toContain('/dev/zero: is no regular file');
    expect(status).toBe(2);
  });
});

onPosix('a reader that goes away', () => {
  const many = join(folder, 'many.layout.yaml');
  const modules = Array.from(
    { length: 1000 },
    (_, i) => `  m${i}: {tp: 2, num_ranks: ${4096 - 2 * i}, rank_offset: ${i}}\n`,
  );
  writeFileSync(many, `layout: 1\nworld_size: 4096\nmodules:\n${modules.join('')}`);

  test.each(['text', 'json', 'sarif', 'github'])(
    'does not turn errors into success: `check --format %s | head -1`',
    async (format) => {
      const child = spawn(process.execPath, [CLI, 'check', '--format', format, many], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout.once('data', () => child.stdout.destroy());
      const status = await new Promise((done) => child.once('exit', done));
      expect([1, 141]).toContain(status);
    },
  );

  test('and one that never comes ends a listing with the status of SIGPIPE', () => {
    const shell = `${process.execPath} ${CLI} groups ${many.replace('many', 'wide')} | true; echo "\${PIPESTATUS[0]}"`;
    writeFileSync(many.replace('many', 'wide'), 'layout: 1\nworld_size: 1048576\nparallelism: {tp: 8}\n');
    expect(execFileSync('/bin/bash', ['-c', shell], { encoding: 'utf8' }).trim()).toBe('141');
  });

  test('as the reader of errors does not matter', () => {
    const shell = `${process.execPath} ${CLI} check none.layout.yaml 2>&1 >/dev/null | true; echo "\${PIPESTATUS[0]}"`;
    expect(execFileSync('/bin/bash', ['-c', shell], { encoding: 'utf8' }).trim()).toBe('2');
  });

  test('many such files are reported in bounded memory, and each of them', () => {
    const words = [
      '--max-old-space-size=256',
      CLI,
      'check',
      '--format',
      'json',
      ...Array.from({ length: 9 }, () => many),
    ];
    const { stdout, status } = spawnSync(process.execPath, words, { encoding: 'utf8', maxBuffer: 2 ** 28 });
    expect(status).toBe(1);
    const reports = JSON.parse(stdout) as { findings: object[] }[];
    expect(reports.map(({ findings }) => findings.length > 900)).toEqual(Array(9).fill(true));
    expect(stdout.length).toBeLessThan(9 * 2 ** 21);
  });

  test('the groups of nonuniform TP over four million ranks take little memory', () => {
    const file = join(folder, 'ntp.layout.yaml');
    writeFileSync(
      file,
      'layout: 1\nworld_size: 1048575\nparallelism: {tp: 8, dp: 131072}\nntp: {tp_base: 8, tp_spares: 1, placement: packed, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]}\n',
    );
    const { status, stdout } = spawnSync(process.execPath, ['--max-old-space-size=128', CLI, 'ntp', file], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    expect(status).toBe(0);
    expect(stdout).toContain('1048574');
  });
});
