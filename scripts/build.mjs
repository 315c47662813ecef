// Bundles every entry into dist/: `node scripts/build.mjs [--watch] [--development]`.
import { cp, mkdir, rm } from 'node:fs/promises';
import esbuild from 'esbuild';

const watch = process.argv.includes('--watch');
const development = watch || process.argv.includes('--development');

/** @type {esbuild.BuildOptions} */
const common = {
  bundle: true,
  minify: !development,
  sourcemap: development,
  legalComments: 'none',
  logLevel: 'info',
  mainFields: ['module', 'main'],
};

/**
 * The engine is one file that the extension, the server and the command line share: three copies would triple the package.
 * @type {esbuild.Plugin}
 */
const sharedEngine = {
  name: 'shared-engine',
  setup(build) {
    build.onResolve({ filter: /^(\.\.\/)+layout$/ }, () => ({ path: './engine.js', external: true }));
  },
};

/** @type {esbuild.BuildOptions} */
const node = { ...common, platform: 'node', target: 'node20', format: 'cjs' };

/** @type {esbuild.BuildOptions[]} */
const bundles = [
  { ...node, entryPoints: ['layout/index.ts'], outfile: 'dist/engine.js' },
  {
    ...node,
    entryPoints: ['client/extension.ts'],
    outfile: 'dist/extension.js',
    external: ['vscode'],
    plugins: [sharedEngine],
  },
  {
    ...node,
    entryPoints: ['server/stdio.ts'],
    outfile: 'dist/server.js',
    plugins: [sharedEngine],
    banner: { js: '#!/usr/bin/env node' },
  },
  {
    ...node,
    entryPoints: ['cli/main.ts'],
    outfile: 'dist/cli.js',
    plugins: [sharedEngine],
    banner: { js: '#!/usr/bin/env node' },
  },
  {
    ...common,
    platform: 'browser',
    target: 'es2022',
    format: 'iife',
    entryPoints: ['webview/main.ts', 'webview/grid.css'],
    outdir: 'dist/webview',
  },
];

await rm('dist', { recursive: true, force: true });
if (watch) {
  const contexts = await Promise.all(bundles.map((options) => esbuild.context(options)));
  await Promise.all(contexts.map((context) => context.watch()));
} else {
  await Promise.all(bundles.map((options) => esbuild.build(options)));
}
await mkdir('dist/smoke', { recursive: true });
await cp('smoke', 'dist/smoke', {
  recursive: true,
  filter: (path) => !/__pycache__|\.pyc$|\.txt$/.test(path),
});
