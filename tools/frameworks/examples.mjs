// Imports a launch file of each framework's own repository, at the revision that is described, and writes the layouts that the pages
// of docs/frameworks show: docs/frameworks/examples. usage: node tools/frameworks/examples.mjs CLONES
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importSource } from '../../scripts/source.mts';

const [clones] = process.argv.slice(2);
if (!clones) {
  console.error('usage: node tools/frameworks/examples.mjs CLONES (a folder of clones, named as their repositories)');
  process.exit(2);
}
const { FRAMEWORKS } = await importSource('layout/frameworks/index.ts');
const { frameworkPageName } = await importSource('layout/frameworks/page.ts');
const { layoutYaml, readLaunchFile } = await importSource('layout/launch/index.ts');
const wanted = JSON.parse(readFileSync('tools/frameworks/examples.json', 'utf8'));
/** Defaults without which a layout is not complete; the others are left out. */
const SIZES = /^ {2}(nodes|gpus_per_node):/;
const folder = 'docs/frameworks/examples';
mkdirSync(folder, { recursive: true });
for (const framework of FRAMEWORKS) {
  const name = frameworkPageName(framework);
  const { source, revision } = framework;
  const { file, command } = wanted[name] ?? {};
  const clone = [source.split('/')[1], join(source.replace('/', '+'), 'repo')]
    .map((path) => join(clones, path))
    .find((path) => existsSync(path));
  if (file && clone) {
    const show = (path) => {
      try {
        return execFileSync('git', ['-C', clone, 'show', `${revision}:${path}`], { encoding: 'utf8', stdio: 'pipe' });
      } catch {
        return null;
      }
    };
    const start = command ? 'run.sh' : file;
    const read = (path) => (path === 'run.sh' && command ? `${command}\n` : show(path));
    const reading = readLaunchFile(start, read(start), read);
    const text = layoutYaml(reading)
      .split('\n')
      .filter((line) => !/^\s*#|^ {2}files:/.test(line) && (!line.endsWith('# default') || SIZES.test(line)))
      .map((line) => line.replace(/\s+# .*$/, ''))
      .filter((line, index, lines) => !/^\w+:$/.test(line) || /^ /.test(lines[index + 1] ?? ''))
      .join('\n');
    const from = `# ${source} at ${revision}, ${file}\n${command ? `# started by: ${command}\n` : ''}`;
    writeFileSync(join(folder, `${name}.layout.yaml`), from + text);
    console.log(`${name}: ${text.split('\n').length} lines`);
  }
}
