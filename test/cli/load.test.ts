import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const CLI = resolve('dist/cli.js');
const EXAMPLE = resolve('examples/mimo-8gpu.layout.yaml');

let home = '';

/** Where the built command line keeps what it compiled, for a person whose home is `home`. */
const kept = (): string[] => {
  const whole = readdirSync(home, { recursive: true, withFileTypes: true });
  return whole.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
};

/** Runs the built command line and gives what it says. */
const check = (): string => {
  const env = {
    ...process.env,
    HOME: home,
    USERPROFILE: home,
    LOCALAPPDATA: home,
    XDG_CACHE_HOME: join(home, 'cache'),
  };
  return execFileSync(process.execPath, [CLI, 'check', EXAMPLE], { env, encoding: 'utf8' });
};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'parallelism-layout-load-'));
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

describe('what an earlier process compiled', () => {
  test('is kept once, for nobody else, and used from then on', () => {
    const said = check();
    const [file = '', ...others] = kept();
    expect(others).toEqual([]);
    expect(statSync(file).mode & 0o077).toBe(0);
    const { mtimeMs, ino } = statSync(file);
    expect(check()).toBe(said);
    expect(statSync(file)).toMatchObject({ mtimeMs, ino });
  });

  test.each([
    ['cut off', (whole: Buffer) => whole.subarray(0, whole.length / 2)],
    ['empty', () => Buffer.alloc(0)],
    ['changed in the middle', (whole: Buffer) => whole.fill(0x5a, whole.length / 2, whole.length / 2 + 64)],
  ])('is not used where it is %s, and made anew', (_, damage) => {
    const said = check();
    const [file = ''] = kept();
    const whole = readFileSync(file);
    writeFileSync(file, damage(Buffer.from(whole)));
    expect(check()).toBe(said);
    const { length } = readFileSync(file);
    expect(Math.abs(length / whole.length - 1)).toBeLessThan(0.1);
  });

  test('is removed when it is old', () => {
    check();
    const [file = ''] = kept();
    const old = join(file, '..', 'cli-of-another-time');
    writeFileSync(old, '');
    utimesSync(old, 0, 0);
    rmSync(file);
    check();
    expect(kept()).toEqual([file]);
  });

  test('is missed by nobody where it cannot be kept', () => {
    writeFileSync(join(home, 'cache'), 'not a folder');
    const said = check();
    expect(said).not.toBe('');
    expect(kept()).toEqual([join(home, 'cache')]);
    expect(check()).toBe(said);
  });
});
