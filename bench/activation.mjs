// How long the extension takes to be active in the editor's real extension host, each time in a new window, beside an extension
// that does nothing: `npm run bench:activation [-- WINDOWS]`, after `npm run link:editor`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runInExtensionHost } from '../test/harness/extensionHost.ts';

const WINDOWS = Number(process.argv[2] ?? 10);
const TARGET = 100;

const EXTENSIONS = {
  ours: { folder: resolve('.'), id: 'parallelism-layout.parallelism-layout', times: [] },
  empty: { folder: resolve('bench/emptyExtension'), id: 'parallelism-layout.empty-extension', times: [] },
};

const workspace = mkdtempSync(join(tmpdir(), 'parallelism-layout-activation-'));

/** Milliseconds. */
async function activation({ folder, id }) {
  let time = Number.NaN;
  await runInExtensionHost({
    extension: folder,
    tests: resolve('bench/activationProbe.cjs'),
    workspace,
    env: { EXTENSION: id },
    report: (text) => {
      time = Number(text);
    },
  });
  return time;
}

for (let i = 0; i < WINDOWS; i++) {
  for (const extension of Object.values(EXTENSIONS)) {
    extension.times.push(await activation(extension));
  }
}
rmSync(workspace, { recursive: true });

console.log(`activation in ${WINDOWS} windows, ms (target: ours no more than ${TARGET} beyond the empty one)`);
for (const [name, { times }] of Object.entries(EXTENSIONS)) {
  times.sort((a, b) => a - b);
  const [least, median, most] = [times[0], times[times.length >> 1], times.at(-1)].map((time) => time.toFixed(0));
  console.log(`  ${name}: median ${median}, ${least} to ${most}`);
}
