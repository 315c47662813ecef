import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import JSZip from 'jszip';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NODE } from '../harness/programs';

/** What an installed package holds. */
interface Opened {
  readonly files: readonly string[];
  readonly manifest: Readonly<Record<string, unknown>>;
  /** The bundles that its programs load. */
  readonly loaded: readonly string[];
}

/** The files beside a program that it loads. */
const loadedBy = (program: string) =>
  [...program.matchAll(/\b(?:require|import)\("\.\/([\w-]+\.js)"\)/g)].map(([, file]) => `dist/${file}`);

async function openVsix(file: string): Promise<Opened> {
  const { files } = await JSZip.loadAsync(readFileSync(file));
  const within = Object.keys(files).filter((path) => path.startsWith('extension/'));
  const manifest = JSON.parse((await files['extension/package.json']?.async('string')) ?? '');
  const programs = within.filter((path) => /^extension\/dist\/[^/]+\.js$/.test(path));
  const texts = await Promise.all(programs.map((path) => files[path]?.async('string') ?? ''));
  return { manifest, files: within.map((path) => path.slice('extension/'.length)), loaded: texts.flatMap(loadedBy) };
}

/** Every text of a manifest that is the path of a file or a folder. */
function pathsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    return /^(?:\.\/)?(?:dist|examples|l10n|media|schemas|syntaxes)(?:\/|$)/.test(value)
      ? [value.replace('./', '')]
      : [];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(pathsIn) : [];
}

const missingFrom = ({ files, manifest, loaded }: Opened) =>
  [...pathsIn(manifest), ...loaded].filter(
    (path) => !files.some((file) => file === path || file.startsWith(`${path}/`)),
  );

/** What no package may hold. */
const STRAY = /\.map$|\.ts$|\.test\.|node_modules|__pycache__|\.pyc$/;

describe.each([
  ['parallelism-layout.vsix', 'main', './dist/extension.js'],
  ['parallelism-layout-web.vsix', 'browser', './dist/web/extension.js'],
])('%s', (file, entry, script) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await openVsix(file);
  });

  test('holds every file that its manifest names or its programs load, and has one entry', () => {
    const { manifest } = opened;
    expect(pathsIn(manifest).length).toBeGreaterThan(15);
    // the protocol of assistants is served from the npm package alone
    expect(missingFrom(opened).filter((path) => path !== 'dist/mcp.js')).toEqual([]);
    expect([manifest.main, manifest.browser].filter(Boolean)).toEqual([script]);
    expect(manifest[entry]).toBe(script);
  });

  test('lists the licences of what it bundles, and holds nothing of the workshop', () => {
    expect(opened.files).toContain('dist/THIRD-PARTY-NOTICES.txt');
    expect(opened.files.filter((path) => STRAY.test(path))).toEqual([]);
    expect(opened.manifest).not.toHaveProperty('devDependencies');
    expect(opened.manifest).not.toHaveProperty('scripts');
  });

  test('holds the examples that new layouts start from', () => {
    const named = readFileSync('client/newLayout.ts', 'utf8').matchAll(/'([\w-]+\.layout\.yaml)'/g);
    const examples = [...named].map(([, name]) => `examples/${name}`);
    expect(examples.length).toBeGreaterThan(0);
    expect(opened.files).toEqual(expect.arrayContaining(examples));
  });
});

describe('parallelism-layout.tgz', () => {
  const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-package-'));
  const folder = join(work, 'package');
  const manifest = () => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/'));

  beforeAll(() => {
    execFileSync('tar', ['-xzf', 'parallelism-layout.tgz', '-C', work]);
  });
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  test('holds every file that its manifest names or its programs load, and needs no other package', () => {
    expect(Object.values(manifest().bin)).toHaveLength(2);
    const programs = files().filter((path) => /^dist\/[^/]+\.js$/.test(path));
    const loaded = programs.flatMap((path) => loadedBy(readFileSync(join(folder, path), 'utf8')));
    expect(loaded).toContain('dist/layout.js');
    expect(missingFrom({ manifest: manifest(), files: files(), loaded })).toEqual([]);
    expect(manifest()).not.toHaveProperty('dependencies');
    expect(manifest()).not.toHaveProperty('private');
    expect(files()).toContain('dist/THIRD-PARTY-NOTICES.txt');
    expect(files().filter((path) => STRAY.test(path))).toEqual([]);
  });

  test('has a command line that works away from its repository', () => {
    const run = (...args: string[]) =>
      execFileSync(NODE, [join(folder, 'dist', 'cli.js'), ...args], { cwd: work, encoding: 'utf8' });
    expect(run('--version').trim()).toBe(manifest().version);
    expect(run('explain', 'dense-factorization')).toContain('dense-factorization');
  });
});
