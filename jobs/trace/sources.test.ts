import fs, { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { computingTime } from '../../test/harness/computing';
import { soundLayout } from '../../test/harness/layouts';
import * as ras from './ras';
import { readEvidence } from './sources';
import { verify } from './verify';

const HANG = 'test/golden/data/flight/sleep-tp2dp2-r2';

const folder = mkdtempSync(join(tmpdir(), 'sources-'));
afterAll(() => rmSync(folder, { recursive: true }));

const checked = soundLayout('layout: 1\nworld_size: 4\nparallelism: {tp: 2}\n');
const found = (path: string) => verify('x.layout.yaml', checked, readEvidence([path], checked.resolved));

const RAS = '{"nccl_version": "2.28", "communicators": []}';

test('one file that this program fails on does not end the others', () => {
  const run = join(folder, 'run');
  cpSync(HANG, run, { recursive: true });
  writeFileSync(join(run, 'a-first.json'), RAS);
  const failing = vi.spyOn(ras, 'looksLikeRas').mockImplementation((text) => {
    if (text === RAS) {
      throw new RangeError('Maximum call stack size exceeded');
    }
    return false;
  });
  const { verdict, culprits, sources } = found(run);
  failing.mockRestore();
  expect([verdict, culprits.map(({ rank }) => rank)]).toEqual(['hang', [2]]);
  expect(sources[0]).toMatchObject({
    ok: false,
    note: 'this program fails on it: RangeError: Maximum call stack size exceeded',
  });
});

test('nor does a folder that cannot be searched', () => {
  const run = join(folder, 'searched');
  cpSync(HANG, run, { recursive: true });
  const closed = join(run, 'b-closed');
  mkdirSync(closed);
  // as a folder of another user: for root there is none
  const { readdirSync } = fs;
  const refuses = vi.spyOn(fs, 'readdirSync').mockImplementation(((path: string, options?: object) => {
    if (path === closed) {
      throw Object.assign(new Error('permission denied'), { code: 'EACCES' });
    }
    return readdirSync(path, options);
  }) as typeof readdirSync);
  syncBuiltinESMExports();
  const { verdict, culprits, sources } = found(run);
  refuses.mockRestore();
  syncBuiltinESMExports();
  expect([verdict, culprits.map(({ rank }) => rank)]).toEqual(['hang', [2]]);
  expect(sources.find(({ file }) => file === closed)).toMatchObject({ ok: false });
});

test.each([
  ['lines', '{}\n'],
  ['line breaks', '\n'],
  ['groups', '{"ranks":[1]}\n'],
])('a file of the recorder with %s without number is read in time', (_, line) => {
  const path = join(folder, 'groups_0.jsonl');
  writeFileSync(path, `{"recorder":1,"rank":0,"world_size":4}\n${line.repeat((8 * 2 ** 20) / line.length)}`);
  const began = computingTime();
  expect(readEvidence([path], checked.resolved).recordings.map(({ rank }) => rank)).toEqual([0]);
  expect(computingTime() - began).toBeLessThan(8_000);
});
