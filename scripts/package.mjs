// Packs what was built: `node scripts/package.mjs` writes parallelism-layout.vsix (editors on a machine),
// parallelism-layout-web.vsix (editors in a browser) and parallelism-layout.tgz (npm: command line and language server);
// `node scripts/package.mjs npm` writes the last one alone.
import { execSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createVSIX } from '@vscode/vsce';

const TEXTS = ['README.md', 'CHANGELOG.md', 'LICENSE', 'dist/THIRD-PARTY-NOTICES.txt'];
const PROGRAMS = ['yaml', 'layout', 'jobs', 'protocol', 'server', 'cli'].map((name) => `dist/${name}.js`);
const EXTENSION = [
  ...TEXTS,
  ...['package.nls.json', 'l10n', 'schemas/layout.schema.json', 'schemas/clusters.schema.json', 'syntaxes'],
  ...['media/icon.png', 'media/activity.svg', 'media/layout-dark.svg', 'media/layout-light.svg', 'media/walkthrough'],
  ...['dense-64gpu', 'mimo-8gpu', 'moe-64gpu', 'ntp-64gpu'].map((name) => `examples/${name}.layout.yaml`),
  ...['dist/webview/main.js', 'dist/webview/grid.css'],
];

/** What the manifest holds for this repository's own tools. */
const OWN = ['private', 'scripts', 'devDependencies', 'optionalDependencies', 'overrides', 'sideEffects', 'bin'];
const NPM = [
  'name',
  'version',
  'description',
  'license',
  'keywords',
  'homepage',
  'repository',
  'bugs',
  'engines',
  'bin',
];

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const without = (...keys) => Object.fromEntries(Object.entries(manifest).filter(([key]) => !keys.includes(key)));
const only = (...keys) => Object.fromEntries(keys.map((key) => [key, manifest[key]]));

const editors =
  process.argv[2] === 'npm' ? [] : [{ name: 'parallelism-layout' }, { name: 'parallelism-layout-web', target: 'web' }];
const packed = [];
for (const { name, target } of editors) {
  const cwd = target
    ? stage('web', [...EXTENSION, 'dist/web/extension.js', 'dist/web/server.js'], without(...OWN, 'main'))
    : stage(
        'desktop',
        [...EXTENSION, ...PROGRAMS, 'dist/smoke', 'dist/extension.js', 'dist/languageclient.js'],
        without(...OWN, 'browser'),
      );
  packed.push(`${name}.vsix`);
  await createVSIX({ cwd, packagePath: `${name}.vsix`, dependencies: false, ...(target && { target }) });
}
const npm = stage('npm', [...TEXTS, ...PROGRAMS, 'dist/smoke', 'dist/mcp.js', 'schemas'], only(...NPM));
packed.push('parallelism-layout.tgz');
renameSync(execSync(`npm pack --silent ./${npm}`, { encoding: 'utf8' }).trim(), 'parallelism-layout.tgz');
for (const file of packed) {
  console.log(`${file}: ${Math.round(statSync(file).size / 1024)} KB`);
}

/** Copies what a package holds into a folder of its own, with its manifest. */
function stage(name, files, content) {
  const folder = join('out', 'package', name);
  rmSync(folder, { recursive: true, force: true });
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(file, join(folder, file), { recursive: true });
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...content, files: ['**'] }));
  // programs read it: white space would be a tenth of it
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.json')) {
      const path = join(folder, name);
      writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, 'utf8'))));
    }
  }
  return folder;
}
