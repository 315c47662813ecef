// Runs the main job: builds, checks an example and opens it with its ranks in a real editor, the desktop one where there is one,
// else the one in the browser. `npm run try`, or `npm run try -- --once` to look once, keep a picture in artifacts/try.png, and end.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const FOLDER = 'examples';
const FILE = 'moe-64gpu.layout.yaml';
const EXAMPLE = `${FOLDER}/${FILE}`;
/** An extension of this script alone, which opens the ranks of the example: no argument of an editor runs a command. */
const SHOWS_RANKS = 'scripts/try';
const VSIX = 'parallelism-layout.vsix';
const once = process.argv.includes('--once');

const node = (...args) => execFileSync(process.execPath, args, { stdio: 'inherit' });

process.once('uncaughtException', (error) => {
  console.error(`This did not work: ${error.message.split('\n')[0]}`);
  process.exit(1);
});

node('scripts/build.mjs');
node('dist/cli.js', 'check', EXAMPLE);
const desktop = spawnSync('code', ['--version'], { shell: process.platform === 'win32' }).status === 0;
if (desktop && !once) {
  console.log('Opening the example in Visual Studio Code.');
  const extensions = [resolve('.'), resolve(SHOWS_RANKS)].map((path) => `--extensionDevelopmentPath=${path}`);
  spawn('code', [...extensions, resolve(FOLDER), resolve(EXAMPLE)], {
    detached: true,
    stdio: 'ignore',
    shell: process.platform === 'win32',
  }).unref();
} else {
  preparePackage();
  await (once ? lookOnce() : serve());
}

/** Packages the extension, for the editor in the browser. */
function preparePackage() {
  if (!existsSync('test/vscode/node_modules/.builtin')) {
    console.log('Installing the browser editor once (about 350 MB).');
    execFileSync('npm', ['ci'], { cwd: 'test/vscode', stdio: 'inherit' });
    node('test/vscode/link.mjs');
  }
  node('scripts/package.mjs');
}

/** Opens the example and its ranks in a browser without a window, and keeps a picture. */
async function lookOnce() {
  const { Workbench } = await import('../test/harness/workbench.ts');
  const workbench = new Workbench();
  await workbench.open({ folder: FOLDER });
  try {
    await workbench.openFile(FILE);
    await workbench.command('Parallelism Layout: Show Rank Grid');
    await workbench.grid.locator('.change-row').first().waitFor();
    await workbench.screenshot('try');
    console.log('The example is open, weighed against other layouts: see artifacts/try.png.');
  } finally {
    await workbench.close();
  }
}

/** Serves the editor with the example open, on a copy of the examples, until it is interrupted. */
async function serve() {
  const { installExtension } = await import('../test/harness/workbench.ts');
  const { startEditorServer } = await import('../test/harness/editorServer.ts');
  const work = mkdtempSync(join(tmpdir(), 'parallelism-layout-try-'));
  const ended = new Promise((done) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.once(signal, done);
    }
  });
  let server;
  try {
    const folder = join(work, FOLDER);
    cpSync(FOLDER, folder, { recursive: true });
    server = await startEditorServer({ extensionsDir: installExtension(VSIX, work) });
    const url = new URL(`http://127.0.0.1:${server.port}/`);
    url.searchParams.set('folder', folder);
    const remote = (path) => `vscode-remote://${url.host}${path}`;
    const payload = [
      ['openFile', remote(join(folder, FILE))],
      ['extensionDevelopmentPath', remote(resolve(SHOWS_RANKS))],
    ];
    url.searchParams.set('payload', JSON.stringify(payload));
    console.log(`\nThe example is open at\n  ${url.href}\nControl+C ends.`);
    openBrowser(url.href);
    await ended;
  } finally {
    await server?.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Shows a page in the person's browser, where there is a display. */
function openBrowser(url) {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const program = process.platform === 'darwin' ? 'open' : DISPLAY || WAYLAND_DISPLAY ? 'xdg-open' : undefined;
  if (program) {
    const child = spawn(program, [url], { detached: true, stdio: 'ignore' });
    child.once('error', () => console.log('No browser could be opened: open the address yourself.'));
    child.unref();
  }
}
