import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makeRunFolder } from './runFolder';

let parent = '';
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'run-folder-'));
  vi.stubEnv('TMPDIR', parent);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(parent, { recursive: true });
});

const HOUR = 3600;
const GONE = spawnSync(process.execPath, ['--version']).pid;

/** A folder as a run of a program leaves it, so many seconds ago. */
function left(program: number, age: number, mode = 0o700): string {
  const path = join(parent, `parallelism-layout-smoke-${program}-abc${mode.toString(8)}`);
  mkdirSync(path, { mode });
  writeFileSync(join(path, 'plan.json'), '{}');
  const then = Date.now() / 1000 - age;
  utimesSync(path, then, then);
  return path;
}

describe.skipIf(process.platform === 'win32')('a folder for a run', () => {
  test('is private and of this program', async () => {
    expect(basename(await makeRunFolder('smoke'))).toMatch(
      new RegExp(`^parallelism-layout-smoke-${process.pid}-\\w{6}$`),
    );
  });

  test('is made beside no folder of a program that is gone', async () => {
    const old = left(GONE, 2 * HOUR);
    await makeRunFolder('smoke');
    expect(existsSync(old)).toBe(false);
  });

  test('leaves folders alone that are young, of a program that runs, or that others can reach', async () => {
    const kept = [left(GONE, HOUR / 2), left(process.ppid, 2 * HOUR), left(GONE, 2 * HOUR, 0o755)];
    await makeRunFolder('smoke');
    expect(kept.map(existsSync)).toEqual([true, true, true]);
  });

  test('follows no link', async () => {
    const target = join(parent, 'target');
    mkdirSync(target, { mode: 0o700 });
    const link = join(parent, `parallelism-layout-smoke-${GONE}-abcdef`);
    symlinkSync(target, link);
    await makeRunFolder('smoke');
    expect([existsSync(target), existsSync(link)]).toEqual([true, true]);
  });

  test('that cannot be made is reported in words', async () => {
    vi.stubEnv('TMPDIR', join(parent, 'none'));
    await expect(makeRunFolder('smoke')).rejects.toThrow('Set TMPDIR to a folder that you can write to.');
  });
});
