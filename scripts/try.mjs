// Runs the main job: builds, checks an example and opens it in a real editor, the desktop one where there is one, else the
// one in the browser. `npm run try`, or `npm run try -- --once` to look once, keep a picture in artifacts/try.png, and end.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const EXAMPLE = 'examples/mimo-8gpu.layout.yaml';
const once = process.argv.includes('--once');

const node = (...args) => execFileSync(process.execPath, args, { stdio: 'inherit' });

node('scripts/build.mjs');
node('dist/cli.js', 'check', EXAMPLE);
const desktop = spawnSync('code', ['--version'], { shell: process.platform === 'win32' }).status === 0;
if (desktop && !once) {
  console.log('Opening the example in Visual Studio Code.');
  spawn('code', [`--extensionDevelopmentPath=${resolve('.')}`, resolve('examples'), resolve(EXAMPLE)], {
    detached: true,
    stdio: 'ignore',
    shell: process.platform === 'win32',
  }).unref();
} else {
  await inBrowser();
}

/** Opens the example in the editor's own workbench, served on this machine. */
async function inBrowser() {
  if (!existsSync('test/vscode/node_modules/.builtin')) {
    console.log('Installing the browser editor once (about 350 MB).');
    execFileSync('npm', ['ci'], { cwd: 'test/vscode', stdio: 'inherit' });
    node('test/vscode/link.mjs');
  }
  node('scripts/package.mjs');
  const { Workbench } = await import('../test/harness/workbench.mjs');
  const workbench = await Workbench.open({ vsix: 'parallelism-layout.vsix', folder: 'examples' });
  try {
    await workbench.openFile('mimo-8gpu.layout.yaml');
    await workbench.command('Parallelism Layout: Show Rank Grid');
    await workbench.grid.locator('.summary').getByText('8 ranks').waitFor();
    await workbench.screenshot('try');
    console.log('The example is open, and its ranks are drawn: see artifacts/try.png.');
    if (!once) {
      console.log(`Open ${workbench.page.url()} in a browser. Control+C ends.`);
      await new Promise((done) => process.once('SIGINT', done));
    }
  } finally {
    await workbench.close();
  }
}
