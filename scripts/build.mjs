// Bundles every entry into dist/: `node scripts/build.mjs [--watch] [--development]`.
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import esbuild from 'esbuild';
import { minify } from 'rolldown/utils';
import { PANEL } from './panel.mjs';
import { importSource } from './source.mjs';

const watch = process.argv.includes('--watch');
const development = watch || process.argv.includes('--development');

/**
 * oxc's minifier finds what esbuild's leaves: 5 % of what is downloaded. What has no character beyond ASCII is read fastest.
 * @type {esbuild.Plugin}
 */
const minifyFurther = {
  name: 'minify-further',
  setup(build) {
    build.initialOptions.write = false;
    build.onEnd(async ({ outputFiles = [] }) => {
      for (const { path, text } of outputFiles) {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, path.endsWith('.js') ? await minified(path, text, build.initialOptions.target) : text);
      }
    });
  },
};

async function minified(path, text, target) {
  const options = { compress: { target }, mangle: true, codegen: { asciiOnly: true } };
  const { code, errors } = await minify(path, text, options);
  if (errors.length > 0) {
    throw new Error(`${path}: ${errors.map(({ message }) => message).join('; ')}`);
  }
  // what the engine is told in a comment stays
  const [hint = ''] = /^\/\/# .*\n/.exec(text) ?? [];
  return hint + code;
}

/** @type {esbuild.BuildOptions} */
const common = {
  bundle: true,
  minify: !development,
  sourcemap: development,
  legalComments: 'none',
  logLevel: 'info',
  mainFields: ['module', 'main'],
  plugins: development ? [] : [minifyFurther],
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

/** What the protocol's libraries hold for servers unlike ours: modules of features, and what stands in their place. */
const UNOFFERED = [
  {
    library: 'vscode-languageclient',
    modules: [
      ...['callHierarchy', 'colorProvider', 'declaration', 'definition', 'diagnostic', 'executeCommand'],
      ...['fileOperations', 'implementation', 'inlineCompletion', 'inlineValue', 'linkedEditingRange', 'notebook'],
      ...['signatureHelp', 'textDocumentContent', 'typeDefinition', 'typeHierarchy', 'workspaceSymbol'],
    ],
    // features that tell the server of no capability, and do nothing
    contents: `
      class NoFeature {
        fillClientCapabilities() {}
        initialize() {}
        getState() { return { kind: 'static' }; }
        clear() {}
      }
      module.exports = new Proxy({}, { get: () => NoFeature });
    `,
  },
  {
    library: 'vscode-languageserver',
    modules: [
      ...['callHierarchy', 'fileOperations', 'inlineCompletion', 'inlineValue', 'linkedEditingRange', 'moniker'],
      ...['notebook', 'textDocumentContent', 'typeHierarchy'],
    ],
    // features that add nothing to the class of a connection
    contents: 'module.exports = new Proxy({}, { get: () => (Base) => Base });',
  },
];

/**
 * Leaves out the features that our server does not offer, and the client's check of the editor's version, which the editor
 * itself makes by our manifest: a tenth of what is downloaded.
 * @type {esbuild.Plugin}
 */
const ownFeatures = {
  name: 'own-features',
  setup(build) {
    for (const { library, modules, contents } of UNOFFERED) {
      const missing = new Set(modules);
      const filter = new RegExp(`${library}.lib.common.(${modules.join('|')})\\.js$`);
      build.onLoad({ filter }, ({ path }) => {
        missing.delete(basename(path, '.js'));
        return { contents };
      });
      build.onEnd(() => ({ errors: [...missing].map((name) => ({ text: `${library} has no module ${name}` })) }));
    }
    const contents = 'module.exports = () => true;';
    build.onLoad({ filter: /semver.functions.(parse|satisfies)\.js$/ }, () => ({ contents }));
  },
};

/**
 * The editor's interface is taken as it is: as a namespace, each of our files would get a copy of it when it is loaded.
 * @type {esbuild.Plugin}
 */
const editorAsItIs = {
  name: 'editor-as-it-is',
  setup(build) {
    build.onLoad({ filter: /[\\/]client[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace("import * as vscode from 'vscode';", "const vscode = require('vscode');");
      return { contents, loader: 'ts' };
    });
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
    plugins: [lazyBuiltins, ownFeatures, editorAsItIs, ...common.plugins],
    // a worker that is no extension has no `module`
    banner: { js: "var module = typeof module === 'undefined' ? { exports: {} } : module;" },
  },
  {
    ...common,
    entryPoints: ['bundle/load.ts'],
    outfile: 'dist/load.js',
    format: 'cjs',
    platform: 'node',
    target: 'node20',
  },
  {
    ...common,
    ...PANEL,
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
// what is compiled of the file is kept from one start to the next, unless it changes under our hands
const content = development ? null : await readFile('dist/main.js');
const digest = content && createHash('sha256').update(content).digest('hex').slice(0, 16);
const { SERVER_PROCESS } = await importSource('server/processFlags.ts');
const variables = Object.entries(SERVER_PROCESS.env).map(([name, value]) => `${name}=${value}`);
const load = (door) => `require('./load.js').load('${door}', ${JSON.stringify(digest)})`;
const doors = {
  extension: `module.exports = ${load('extension')};`,
  server: `#!/usr/bin/env -S ${variables.join(' ')} node ${SERVER_PROCESS.flags.join(' ')}\n${load('server')}.startServer();`,
  cli: `#!/usr/bin/env node\n${load('cli')}.startCommandLine();`,
};
for (const [name, text] of Object.entries(doors)) {
  await writeFile(`dist/${name}.js`, `${text}\n`, { mode: name === 'extension' ? 0o644 : 0o755 });
}
await mkdir('dist/smoke', { recursive: true });
await cp('smoke', 'dist/smoke', {
  recursive: true,
  filter: (path) => !/__pycache__|\.pyc$|\.txt$/.test(path),
});
