// What is bundled, for the build and for the test that holds the arrows between rooms.

import { relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');

const common = { bundle: true, minify: true, legalComments: 'none', mainFields: ['module', 'main'] };

/** What the programs on Node share: inlined, it was more than half of each. By folder, the bundle of its index. */
const ENGINE = { layout: './layout.js', 'layout/cost': './layout.js', 'layout/launch': './layout.js' };

const PACKAGES = [
  [/^yaml$/, './yaml.js'],
  [/^vscode-languageserver-protocol(\/node)?$/, './protocol.js'],
  [/^vscode-languageclient(\/node)?$/, './languageclient.js'],
];

/**
 * Leaves to other bundles what they hold, however a file writes the way to it.
 * @param {Readonly<Record<string, string>>} folders
 * @returns {import('esbuild').Plugin}
 */
function sharing(folders) {
  return {
    name: 'shared',
    setup(build) {
      build.onResolve({ filter: /^\.\.?(\/|$)/ }, ({ path, resolveDir }) => {
        const bundle = folders[relative(ROOT, resolve(resolveDir, path)).replaceAll('\\', '/')];
        return bundle === undefined ? undefined : { path: bundle, external: true };
      });
      for (const [name, bundle] of PACKAGES) {
        build.onResolve({ filter: name }, () => ({ path: bundle, external: true }));
      }
    },
  };
}

const node = {
  ...common,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  plugins: [sharing({ ...ENGINE, jobs: './jobs.js' })],
};
const web = { ...common, platform: 'browser', target: 'es2022' };

/**
 * The rank grid: for the extension, and alone for tests and benchmarks.
 * @type {import('esbuild').BuildOptions}
 */
export const PANEL = {
  ...web,
  entryPoints: ['webview/main.ts', 'webview/grid.css'],
  outdir: 'dist/webview',
  format: 'iife',
  // most of it runs with the first picture, which would otherwise wait until function after function is compiled
  banner: { js: '//# allFunctionsCalledOnLoad' },
};

/**
 * Every bundle.
 * @type {import('esbuild').BuildOptions[]}
 */
export const BUNDLES = [
  { ...node, entryPoints: ['node_modules/yaml/dist/index.js'], outfile: 'dist/yaml.js' },
  { ...node, entryPoints: ['layout/bundle.ts'], outfile: 'dist/layout.js', plugins: [sharing({})] },
  { ...node, entryPoints: ['jobs/index.ts'], outfile: 'dist/jobs.js', plugins: [sharing(ENGINE)] },
  { ...node, entryPoints: ['client/platform/node.ts'], outfile: 'dist/extension.js', external: ['vscode'] },
  // what language server and client speak
  {
    ...node,
    entryPoints: ['node_modules/vscode-languageserver-protocol/lib/node/main.js'],
    outfile: 'dist/protocol.js',
  },
  // read when the commands of the extension are there
  {
    ...node,
    entryPoints: ['node_modules/vscode-languageclient/lib/node/main.js'],
    outfile: 'dist/languageclient.js',
    external: ['vscode'],
  },
  { ...node, entryPoints: ['server/stdio.ts'], outfile: 'dist/server.js' },
  { ...node, entryPoints: ['cli/main.ts'], outfile: 'dist/cli.js', external: ['./mcp.js'] },
  { ...node, entryPoints: ['cli/mcp.ts'], outfile: 'dist/mcp.js' },
  {
    ...web,
    entryPoints: ['client/platform/web.ts'],
    outfile: 'dist/web/extension.js',
    format: 'cjs',
    external: ['vscode'],
  },
  { ...web, entryPoints: ['server/worker.ts'], outfile: 'dist/web/server.js', format: 'iife' },
  PANEL,
];
