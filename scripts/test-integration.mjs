// Runs the integration tests inside a real extension host: `node scripts/test-integration.mjs [--electron]`.
// With --electron, @vscode/test-electron runs the same suite in the desktop editor (downloaded, or VSCODE_EXECUTABLE).
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import esbuild from 'esbuild';

const tests = resolve('out/test/integration.js');
const webTests = resolve('out/test/web.js');

/** @type {esbuild.BuildOptions} */
const common = { bundle: true, format: 'cjs', logLevel: 'warning' };
await esbuild.build({
  ...common,
  entryPoints: ['test/editor/integration/index.ts'],
  outfile: tests,
  platform: 'node',
  target: 'node20',
  external: ['vscode', 'mocha'],
});
await esbuild.build({
  ...common,
  entryPoints: ['test/editor/integration/web.ts'],
  outfile: webTests,
  platform: 'browser',
  target: 'es2022',
  external: ['vscode'],
  // Mocha's build for browsers must not take this module for its own
  define: { module: 'undefined', exports: 'undefined' },
  alias: {
    'node:assert': resolve('test/editor/integration/assert.ts'),
    mocha: resolve('node_modules/mocha/mocha.mjs'),
  },
});

// each run works on its own copy of the files
const workspace = mkdtempSync(join(tmpdir(), 'parallelism-layout-workspace-'));
const layouts = join(workspace, 'layouts');
cpSync('test/fixtures/workspace', layouts, { recursive: true });
cpSync('examples', layouts, { recursive: true });
// a second folder beside it makes a workspace of several roots, which the tests open: the editor in a browser may miss the folders
// that the file of a workspace names, where it has read the file before it has set up the workspace
mkdirSync(join(workspace, 'more'));
writeFileSync(join(workspace, 'more', 'broken.layout.yaml'), 'layout: 1\nworld_size: 8\n');
const roots = join(workspace, 'roots.code-workspace');
writeFileSync(roots, JSON.stringify({ folders: [] }));
try {
  process.exitCode = process.argv.includes('--electron') ? await inElectron() : await inServer();
} finally {
  rmSync(workspace, { recursive: true, force: true });
}

async function inServer() {
  const { runInExtensionHost } = await import('../test/harness/extensionHost.ts');
  const options = { extension: resolve('.'), tests, workspace: layouts };
  const trusted = await runInExtensionHost({ ...options, workspace: roots });
  const untrusted = await runInExtensionHost({ ...options, trust: true, env: { TEST_SUITE: 'untrusted' } });
  const web = await runInExtensionHost({ ...options, tests: webTests, web: true });
  return trusted || untrusted || web;
}

async function inElectron() {
  const { runTests } = await import('@vscode/test-electron');
  const executable = process.env.VSCODE_EXECUTABLE;
  return runTests({
    ...(executable ? { vscodeExecutablePath: resolve(executable) } : { version: 'stable' }),
    extensionDevelopmentPath: resolve('.'),
    extensionTestsPath: tests,
    launchArgs: [roots],
  });
}
