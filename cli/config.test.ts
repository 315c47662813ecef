import {
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { forgetLevels, levelsFor } from './config';
import { nearTo } from './repository';

let folder: string;
const put = (path: string, text = '') => {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), text);
  return join(folder, path);
};
const OFF = 'rules:\n  world-gap: off\n';
const STRANGER = 54_321;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'config-')));
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  process.exitCode = undefined;
  forgetLevels();
});

afterEach(() => {
  vi.restoreAllMocks();
  forgetLevels();
  rmSync(folder, { recursive: true });
});

describe('a configuration', () => {
  test('of the repository counts, one above it does not', () => {
    put('.parallelism-layout.yaml', OFF);
    put('repository/.git/HEAD');
    const layout = put('repository/jobs/a.layout.yaml');
    expect([...levelsFor(layout)]).toEqual([]);
    forgetLevels();
    put('repository/.parallelism-layout.yaml', OFF);
    expect([...levelsFor(layout)]).toEqual([['world-gap', 'off']]);
  });

  test.runIf(process.getuid?.() === 0)('of another user above a layout is ignored, and said to be', () => {
    const layout = put('shared/mine/a.layout.yaml');
    const configuration = put('shared/.parallelism-layout.yaml', OFF);
    expect([...levelsFor(layout)]).toEqual([['world-gap', 'off']]);
    forgetLevels();
    chownSync(configuration, STRANGER, STRANGER);
    expect([...levelsFor(layout)]).toEqual([]);
    expect(process.stderr.write).toHaveBeenCalledWith(expect.stringContaining('belongs to another user'));
    // a whole checkout of one user that another checks
    forgetLevels();
    chownSync(layout, STRANGER, STRANGER);
    expect([...levelsFor(layout)]).toEqual([['world-gap', 'off']]);
  });

  test.runIf(process.getuid?.() === 0).each([
    ['a configuration that counts', 'own.yaml'],
    ['a file that is no configuration', '/etc/passwd'],
    ['itself', '.parallelism-layout.yaml'],
    ['a device', '/dev/zero'],
  ])("is not another user's link to %s, which ends nothing", (_, target) => {
    const layout = put('shared/mine/a.layout.yaml');
    put('shared/own.yaml', OFF);
    const link = join(folder, 'shared/.parallelism-layout.yaml');
    symlinkSync(target, link);
    lchownSync(link, STRANGER, STRANGER);
    expect([...levelsFor(layout)]).toEqual([]);
    expect(process.exitCode).toBeUndefined();
    expect(process.stderr.write).toHaveBeenCalledWith(expect.stringContaining('belongs to another user'));
  });
});

test('outside any repository a layout reads files of its own folder alone', () => {
  const layout = put('a/b/c/a.layout.yaml');
  const files = ['a/b/c/d/train.sh', 'a/b/c/train.sh', 'a/b/train.sh', 'a/train.sh'].map((path) => put(path));
  expect(files.map(nearTo(layout))).toEqual([true, true, false, false]);
  put('a/.git/HEAD');
  expect(files.map(nearTo(layout))).toEqual([true, true, true, true]);
});
