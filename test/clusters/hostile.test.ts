import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { planOf } from '../harness/layouts';
import { flawOfEvent } from '../harness/schemas';

const CLI = resolve('dist/cli.js');
const FAULTY = resolve('test/clusters/faulty_rank.py');
const PYTHON = process.env.PYTHON ?? '/usr/bin/python3';
const SECONDS = 1000;

/** Texts that mean something to a shell, a parser of options or of JSON. */
const HOSTILE = [
  '-x --dry-run',
  '$(touch pwned) `touch pwned` $PATH',
  `'; touch pwned; '`,
  '"; touch pwned; "',
  'é 日本 🙂 %s %(x)s \\n \\',
].join(' ');

/** Texts that mean something to a terminal, or that end a text early: no layout holds them, the names of files may. */
const UNSAFE = '\n touch pwned\nEND_OF_PLAN\ntouch pwned\n \0 \u001b[31m \r \u0085 \u2028 \u202e';

const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Outcome {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a program in the folder where `touch pwned` would leave its mark. */
function call(program: string, words: readonly string[]): Promise<Outcome> {
  return new Promise((done) => {
    execFile(program, [...words], { cwd: folder, maxBuffer: 2 ** 26 }, (error, out, err) => {
      done({ status: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err });
    });
  });
}

describe('a hostile layout', () => {
  const layoutOf = (name: string) =>
    [
      'layout: 1',
      `name: ${JSON.stringify(name)}`,
      'world_size: 4',
      'modules:',
      '  language: {tp: 2, num_ranks: 2}',
      `  ${JSON.stringify(name)}: {tp: 2, num_ranks: 2, rank_offset: 2}`,
      'smoke: {checks: [groups], payload: 4KiB, iterations: 1}',
      '',
    ].join('\n');
  // a name of a file may hold all but a slash and NUL
  const file = `${UNSAFE.replaceAll(/[\0/]/g, '')}${HOSTILE.slice(0, 90)}.layout.yaml`;
  writeFileSync(join(folder, file), layoutOf(HOSTILE));

  test('is refused where a terminal would obey its names', async () => {
    writeFileSync(join(folder, 'unsafe.layout.yaml'), layoutOf(UNSAFE));
    const { status, out, err } = await call(process.execPath, [CLI, 'smoke', 'unsafe.layout.yaml']);
    expect(status, out).toBe(1);
    expect(err).toContain('error[unsafe-character]');
    expect(out + err).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u);
  });

  test('is shown without control characters', { timeout: 120 * SECONDS }, async () => {
    const { status, out, err } = await call(process.execPath, [CLI, 'smoke', '--', file]);
    expect(status, err).toBe(0);
    expect(out).toMatch(/passed: \d+ process groups/);
    expect(out).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u);
  });

  test('arrives word for word, also through the script of a dry run in a real shell, and runs nothing', {
    timeout: 120 * SECONDS,
  }, async () => {
    const dry = await call(process.execPath, [CLI, 'smoke', '--dry-run', '--', file]);
    expect(dry.status, dry.err).toBe(0);
    mkdirSync(join(folder, 'script'), { recursive: true });
    writeFileSync(join(folder, 'script', 'run.sh'), dry.out);
    const { status, out, err } = await call('/bin/sh', ['script/run.sh']);
    expect(status, err).toBe(0);
    const lines = out.trim().split('\n');
    expect(lines.map(flawOfEvent).filter((flaw) => flaw !== null)).toEqual([]);
    const events = lines.map((line) => JSON.parse(line));
    expect(events[0]).toMatchObject({ ev: 'start', layout: HOSTILE });
    expect(events.at(-1)).toMatchObject({ ev: 'end', verdict: 'ok' });
    const modules = new Set(events.filter(({ ev }) => ev === 'group').map(({ module }) => module));
    expect(modules).toEqual(new Set(['language', HOSTILE]));
    expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });
});

describe('a fault', () => {
  const text =
    'layout: 1\nworld_size: 2\nparallelism:\n  pp: 1\n  tp: 2\nsmoke: {checks: [groups], payload: 4KiB, iterations: 1, timeout: 10s}\n';
  const file = 'faulty.layout.yaml';
  writeFileSync(join(folder, file), text);
  const names = planOf(text, file).groups.flatMap(({ name, ranks }) => ranks.map(() => name));
  const tp = names.indexOf('tp');

  /** An interpreter under which one rank of the launcher's has a fault. */
  function interpreter(fault: string): string {
    const path = join(folder, `python-${fault.replaceAll(/\W/g, '-')}`);
    writeFileSync(
      path,
      [
        '#!/bin/bash',
        // the referee starts its ranks with the interpreter that it runs under: that is this file, by its name
        `if [ -n "$RANK" ]; then exec ${PYTHON} ${FAULTY} ${fault} "\${@:2}"; fi`,
        `exec -a "$0" ${PYTHON} "$@"`,
        '',
      ].join('\n'),
      { mode: 0o755 },
    );
    return path;
  }

  test.each([
    [
      'a rank that exits',
      `1:exit@gate:${tp}`,
      'rank-lost',
      /Rank 1 on \S+ ended with status 7\. It was .* tp group 0 \[0, 1\]/,
    ],
    ['a corrupted value', `1:data@run:${tp}`, 'wrong-data', /Rank\(s\) \[1\] sent wrong data in tp group 0 \[0, 1\]/],
    [
      'groups in another order',
      `1:swap@plan:${tp - 1}`,
      'plan-mismatch',
      /Rank 1 on \S+ would create .* in another order/,
    ],
  ])('of %s is named at the line of the layout', { timeout: 150 * SECONDS }, async (_, fault, code, message) => {
    const clusters = join(folder, 'clusters.json');
    writeFileSync(
      clusters,
      JSON.stringify({ clusters: [{ name: 'local', kind: 'local', python: interpreter(fault) }] }),
    );
    const checks = fault.includes('data') ? text.replace('[groups]', '[groups, collectives]') : text;
    writeFileSync(join(folder, file), checks);
    const { status, out, err } = await call(process.execPath, [CLI, 'smoke', '--clusters', clusters, file]);
    expect(status, err).toBe(1);
    const [, line, found, said] = /^faulty\.layout\.yaml:(\d+):1: error\[smoke-([a-z-]+)\]: (.*)$/m.exec(out) ?? [];
    expect(found, out).toBe(code);
    expect(said).toMatch(message);
    // the degree that makes the group; in another order it is the group before it, of kind mp, that is missed first
    const degree = fault.includes('swap') ? '  pp: 1' : '  tp: 2';
    expect(Number(line)).toBe(text.split('\n').indexOf(degree) + 1);
  });
});
