// Bundles every entry into dist/: `node scripts/build.mjs [--watch] [--development]`.
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
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
 * The protocol's library loads Node's cryptography and processes when it starts, for transports that few use: that is a fifth
 * of the server's start. They are loaded when they are first asked for.
 * @type {esbuild.Plugin}
 */
const lazyBuiltins = {
  name: 'lazy-builtins',
  setup(build) {
    build.onResolve({ filter: /^(crypto|child_process)$/ }, ({ path, importer }) =>
      /node_modules.vscode-(jsonrpc|languageserver)/.test(importer) ? { path, namespace: 'lazy' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'lazy' }, ({ path }) => ({
      contents: `module.exports = new Proxy({}, { get: (_, name) => require('node:${path}')[name] });`,
    }));
  },
};

/** @type {esbuild.BuildOptions[]} */
const bundles = [
  {
    ...common,
    entryPoints: ['bundle/main.ts'],
    outfile: 'dist/main.js',
    format: 'cjs',
    platform: 'node',
    target: ['node20', 'es2022'],
    // one file for Node and the web, so what is for one of them alone is loaded where it is wanted
    conditions: ['node', 'browser'],
    alias: { yaml: resolve('node_modules/yaml/browser/index.js') },
    external: ['vscode'],
    plugins: [lazyBuiltins],
    // a worker that is no extension has no `module`
    banner: { js: "var module = typeof module === 'undefined' ? { exports: {} } : module;" },
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
// a server runs for days: with a small young generation it takes half the memory, and is no slower
const doors = {
  server: { start: 'startServer', program: 'env -S node --max-semi-space-size=4' },
  cli: { start: 'startCommandLine', program: 'env node' },
};
for (const [name, { start, program }] of Object.entries(doors)) {
  // compiled once for all starts, where Node can keep that
  const lines = [
    `#!/usr/bin/${program}`,
    `require('node:module').enableCompileCache?.();`,
    `require('./main.js').${start}();`,
  ];
  await writeFile(`dist/${name}.js`, `${lines.join('\n')}\n`, { mode: 0o755 });
}
await mkdir('dist/smoke', { recursive: true });
await cp('smoke', 'dist/smoke', {
  recursive: true,
  filter: (path) => !/__pycache__|\.pyc$|\.txt$/.test(path),
});
