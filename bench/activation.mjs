// How long the extension takes to be active in the editor's real extension host, each time in a new window, beside an extension
// that does nothing: `npm run bench:activation [-- WINDOWS]`, after `npm run link:editor`.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SERVER_MAIN } from '../test/harness/editorServer.ts';
import { runInExtensionHost } from '../test/harness/extensionHost.ts';

const WINDOWS = Number(process.argv[2] ?? 5);
const TARGET = 100;

const EXTENSIONS = [
  { name: 'ours', folder: resolve('.'), id: 'parallelism-layout.parallelism-layout', times: [] },
  { name: 'empty', folder: resolve('bench/emptyExtension'), id: 'parallelism-layout.empty-extension', times: [] },
];

const workspace = mkdtempSync(join(tmpdir(), 'parallelism-layout-activation-'));

/** Milliseconds. */
async function activation({ folder, id }) {
  let told = '';
  const code = await runInExtensionHost({
    extension: folder,
    tests: resolve('bench/activationProbe.cjs'),
    workspace,
    env: { EXTENSION: id },
    report: (text) => {
      told = text;
    },
  });
  if (code !== 0 || told === '') {
    throw new Error(`the probe in the window of ${id} ended with ${code} and no time`);
  }
  return Number(told);
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

async function measure() {
  for (let i = 0; i < WINDOWS; i++) {
    for (const extension of EXTENSIONS) {
      extension.times.push(await activation(extension));
    }
  }
  console.log(`activation in ${WINDOWS} windows each, ms`);
  for (const { name, times } of EXTENSIONS) {
    const [least, most] = [Math.min(...times), Math.max(...times)].map((time) => time.toFixed(0));
    console.log(`  ${name}: median ${median(times).toFixed(0)}, ${least} to ${most}`);
  }
  const [ours, empty] = EXTENSIONS.map(({ times }) => median(times));
  console.log(`  beyond the empty one: ${(ours - empty).toFixed(0)} (target: at most ${TARGET})`);
}

try {
  if (!existsSync(SERVER_MAIN)) {
    throw new Error('the editor is not installed: run `npm ci` in test/vscode and then `npm run link:editor`');
  }
  await measure();
} catch (error) {
  console.error(`bench:activation measured nothing: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  rmSync(workspace, { recursive: true });
}
