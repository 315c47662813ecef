// How long the extension takes to be active in the editor's real extension host, each time in a new window:
// `npm run bench:activation [-- WINDOWS]`, after `npm run link:editor`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runInExtensionHost } from '../test/harness/extensionHost.mjs';

const WINDOWS = Number(process.argv[2] ?? 10);
const TARGET = 50;

const empty = mkdtempSync(join(tmpdir(), 'parallelism-layout-activation-'));
const times = [];
for (let i = 0; i < WINDOWS; i++) {
  await runInExtensionHost({
    extension: resolve('.'),
    tests: resolve('bench/activationProbe.cjs'),
    workspace: empty,
    report: (text) => times.push(Number(text)),
  });
}
rmSync(empty, { recursive: true });
times.sort((a, b) => a - b);
const [least, median, most] = [times[0], times[times.length >> 1], times.at(-1)].map((time) => time.toFixed(0));
console.log(`activation: median ${median} ms, ${least} to ${most} ms in ${WINDOWS} windows (target ${TARGET} ms)`);
