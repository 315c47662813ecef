import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import esbuild, { type BuildOptions } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { BUNDLES } from '../../scripts/bundles.mjs';

/** The rooms, and which others each may import; `layout` imports nothing of ours, and nothing imports `client` or `cli`. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  layout: [],
  server: ['layout'],
  jobs: ['layout'],
  picture: ['layout'],
  webview: ['layout', 'picture'],
  cli: ['layout', 'jobs', 'picture'],
  client: ['layout', 'server', 'jobs', 'picture', 'webview'],
};

/** What each file imports of ours. */
type Imports = ReadonlyMap<string, readonly string[]>;

const roomOf = (file: string) => file.split('/')[0] ?? '';

/** Every import of the source, also of types alone, which no bundle shows. */
function sourceImports(): Imports {
  const files = Object.keys(ROOMS).flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .map((file) => posix.join(room, file.replaceAll('\\', '/')))
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts')),
  );
  return new Map(files.map((file) => [file, importsOf(file)]));
}

function importsOf(file: string): string[] {
  const paths = readFileSync(file, 'utf8').matchAll(/(?:^import|^export|\bfrom|\bimport\()\s*'(\.[^']*)'/gm);
  return [...paths].map(([, path = '']) => {
    const target = posix.join(posix.dirname(file), path);
    return [`${target}.ts`, `${target}/index.ts`, target].find((candidate) => existsSync(candidate)) ?? target;
  });
}

/** Imports that go against the arrows between rooms. */
const strayIn = (imports: Imports): string[] =>
  [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => target in ROOMS || roomOf(target) in ROOMS)
      .filter((target) => roomOf(target) !== roomOf(file) && !ROOMS[roomOf(file)]?.includes(roomOf(target)))
      .map((target) => `${file} -> ${target}`),
  );

/** The files that import themselves by way of others. */
function circularIn(imports: Imports): string[] {
  let left = new Map(imports);
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    left = new Map([...left].filter(([, targets]) => targets.some((target) => left.has(target))));
  }
  return [...left.keys()].filter((start) => {
    const seen = new Set<string>();
    const waiting = [...(left.get(start) ?? [])];
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (!seen.has(file)) {
        seen.add(file);
        waiting.push(...(left.get(file) ?? []));
      }
    }
    return seen.has(start);
  });
}

/** What the bundler sees of a bundle. */
async function bundledImports(options: BuildOptions): Promise<Imports> {
  const { metafile } = await esbuild.build({ ...options, metafile: true, write: false, logLevel: 'error' });
  const ours = Object.entries(metafile.inputs).filter(([file]) => roomOf(file) in ROOMS);
  return new Map(ours.map(([file, { imports }]) => [file, imports.map(({ path }) => path)]));
}

describe('rooms', () => {
  test('import only what they may, types included', () => {
    expect(strayIn(sourceImports())).toEqual([]);
  });

  test('have no circles, of types neither', () => {
    expect(circularIn(sourceImports())).toEqual([]);
  });

  test('are folders with a project of their own', () => {
    const { references } = JSON.parse(readFileSync('tsconfig.json', 'utf8'));
    const projects = references.map(({ path }: { path: string }) => path);
    expect(projects).toEqual(expect.arrayContaining(Object.keys(ROOMS)));
    expect(Object.keys(ROOMS).filter((room) => !existsSync(join(room, 'tsconfig.json')))).toEqual([]);
  });
});

describe.each(BUNDLES.map((options) => [[options.entryPoints].flat().join(', '), options] as const))(
  '%s',
  (_, options) => {
    test('is bundled along the arrows, and the engine takes nothing of Node.js', async () => {
      const imports = await bundledImports(options);
      expect(strayIn(imports)).toEqual([]);
      expect(
        [...imports]
          .filter(([file]) => roomOf(file) === 'layout')
          .flatMap(([, all]) => all)
          .filter((path) => path.startsWith('node:')),
      ).toEqual([]);
    });
  },
);
