import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { outputOfFiles } from './files';
import { EXIT } from './output';

let folder: string;
let said: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'files-'));
  said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  process.exitCode = undefined;
});

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  rmSync(folder, { recursive: true });
});

test.each(['text', 'json', 'jsonl'] as const)(
  'a file that a command fails on ends its own output only: %s',
  (format) => {
    const files = ['a', 'b', 'c'].map((name) => join(folder, `${name}.layout.yaml`));
    for (const file of files) {
      writeFileSync(file, 'layout: 1\nworld_size: 8\n');
    }
    const [, second] = files;
    const output = (file: string) => {
      if (file === second) {
        throw new RangeError('Maximum call stack size exceeded');
      }
      return { file, ok: true };
    };
    const all = [
      ...outputOfFiles(
        files,
        format,
        ({ file }) => output(file),
        ({ file }) => [JSON.stringify(output(file))],
      ),
    ].join('');
    const lines = all.split('\n').filter((line) => line !== '');
    const printed = format === 'json' ? JSON.parse(all) : lines.map((line) => JSON.parse(line));
    const names = printed.map(({ file }: { file: string }) => file);
    expect(names).toEqual(format === 'text' ? [files[0], files[2]] : files);
    expect(said).toContain(`${second}: internal error: RangeError: Maximum call stack size exceeded`);
    expect(process.exitCode).toBe(EXIT.internal);
  },
);
