// What is bundled, for the build and for the test that holds the arrows between rooms.

const common = { bundle: true, minify: true, legalComments: 'none', mainFields: ['module', 'main'] };

/**
 * The engine and the YAML parser are files of their own, which the programs on Node share: inlined, they were half of each.
 * @type {import('esbuild').Plugin}
 */
const shared = {
  name: 'shared',
  setup(build) {
    build.onResolve({ filter: /^(\.\.\/)+layout(\/cost)?$/ }, () => ({ path: './layout.js', external: true }));
    build.onResolve({ filter: /^(\.\.\/)+layout\/launch$/ }, () => ({ path: './launch.js', external: true }));
    build.onResolve({ filter: /^yaml$/ }, () => ({ path: './yaml.js', external: true }));
    build.onResolve({ filter: /^vscode-languageclient(\/node)?$/ }, () => ({
      path: './languageclient.js',
      external: true,
    }));
  },
};

const node = { ...common, platform: 'node', target: 'node20', format: 'cjs', plugins: [shared] };
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
  { ...node, entryPoints: ['layout/index.ts'], outfile: 'dist/layout.js' },
  // read when a launch file is first imported, exported or compared
  { ...node, entryPoints: ['layout/launch/index.ts'], outfile: 'dist/launch.js' },
  { ...node, entryPoints: ['client/nodeMain.ts'], outfile: 'dist/extension.js', external: ['vscode'] },
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
  { ...web, entryPoints: ['client/webMain.ts'], outfile: 'dist/web/extension.js', format: 'cjs', external: ['vscode'] },
  { ...web, entryPoints: ['server/worker.ts'], outfile: 'dist/web/server.js', format: 'iife' },
  PANEL,
];
