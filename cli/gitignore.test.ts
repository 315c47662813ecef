import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { computingTime } from '../test/harness/computing';
import { GitIgnore, PatternWork } from './gitignore';

/** Paths that differ in what patterns ask of them. */
const FILES = [
  ...['a', 'b.yaml', 'ab', 'a b', 'A', '#a', '!a', 'a*', 'z-9', '日本'],
  ...['a/a', 'a/b.yaml', 'build/a', 'build/x/a', 'x/build/a', 'x/y/build/b.yaml'],
  ...['x/a/y/b.yaml', 'x/y/z/a', 'deep/x/y/z/b.yaml', '.hidden/a'],
];

/** The parts that random patterns are composed of. */
const PARTS = [
  'a',
  'b',
  '*',
  '**',
  '?',
  'build',
  '*.yaml',
  '[ab]',
  '[!a]*',
  '[a-c]b',
  'x',
  'y',
  '\\*',
  'a*',
  '*b*',
  '\\#a',

  '日*',
];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gitignore-'));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });
  git('init', '-q');
  git('config', 'core.ignoreCase', 'false');
  git('config', 'core.quotePath', 'false');
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** What git says of each path under each `.gitignore`, one pattern a line: each has a folder of its own. */
function gitVerdicts(texts: readonly string[], paths: readonly string[]): readonly (readonly boolean[])[] {
  for (const [index, text] of texts.entries()) {
    mkdirSync(join(folder, `${index}`));
    writeFileSync(join(folder, `${index}`, '.gitignore'), text);
  }
  const { stdout } = spawnSync('git', ['check-ignore', '--no-index', '-v', '-n', '-z', '--stdin'], {
    cwd: folder,
    input: texts.flatMap((_, index) => paths.map((path) => `${index}/${path}\0`)).join(''),
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
    maxBuffer: 2 ** 26,
  });
  const fields = stdout.toString().split('\0');
  return texts.map((_, index) =>
    paths.map((_path, at) => {
      const pattern = fields[(index * paths.length + at) * 4 + 2] ?? '';
      return pattern !== '' && !pattern.startsWith('!');
    }),
  );
}

/** What this matcher says: a file is out where a folder above it is. */
function ownVerdicts(text: string, paths: readonly string[]): readonly boolean[] {
  const ignore = new GitIgnore(text, new PatternWork());
  return paths.map((path) => {
    const parts = path.split('/');
    const verdicts = parts.map((_, index) =>
      ignore.verdict(parts.slice(0, index + 1).join('/'), index < parts.length - 1),
    );
    const folders = verdicts.slice(0, -1).indexOf(true);
    return folders >= 0 || verdicts.at(-1) === true;
  });
}

describe('patterns of .gitignore', () => {
  test('exclude what git excludes', () => {
    let state = 2026;
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    const paths = FILES.filter((path) => !FILES.some((other) => other.startsWith(`${path}/`)));
    const texts = Array.from({ length: 300 }, () => {
      const lines = Array.from({ length: 1 + random(3) }, () => {
        const parts = Array.from({ length: 1 + random(4) }, () => PARTS[random(PARTS.length)]);
        return `${['', '', '', '!', '/'][random(5)]}${parts.join('/')}${['', '', '/', ' ', '\r'][random(5)]}`;
      });
      return `${lines.join('\n')}\n`;
    });
    const verdicts = gitVerdicts(texts, paths);
    expect(verdicts.flat()).toContain(true);
    for (const [index, text] of texts.entries()) {
      const [own, git] = [ownVerdicts(text, paths), verdicts[index] ?? []];
      expect({ text, other: paths.filter((_, at) => own[at] !== git[at]) }).toEqual({ text, other: [] });
    }
  });

  test.each([
    ['folders at any depth, nine times', `${'**/a/'.repeat(9)}**/b\n`, `${'a/'.repeat(1000)}x`],
    ['stars in a name', `${'*a'.repeat(60)}*b\n`, 'a'.repeat(255)],
    ['stars and folders', `${'**/*a*a*a*a*/'.repeat(9)}b\n`, `${`${'a'.repeat(250)}/`.repeat(15)}c`],
    ['many patterns', '*a*a*a*a*a*a*b\n'.repeat(4000), 'a'.repeat(255)],
    ['one long pattern', `${'*a'.repeat(30_000)}\n`, 'a'.repeat(255)],
  ])('take bounded time: %s', (_, text, path) => {
    const ignore = new GitIgnore(text, new PatternWork());
    const began = computingTime();
    for (let file = 0; file < 200; file++) {
      expect(ignore.verdict(path, false)).toBe(null);
    }
    expect(computingTime() - began).toBeLessThan(8_000);
  });
});
