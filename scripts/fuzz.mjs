// Random edits against the running language server: `npm run fuzz:server [-- EDITS [SEED]]`, 100,000 edits by default.
import { spawnSync } from 'node:child_process';

const [edits = '100000', seed = String(Date.now() % 2 ** 31)] = process.argv.slice(2);
const { status } = spawnSync('node_modules/.bin/vitest', ['run', '--reporter=verbose', 'test/protocol/fuzz.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, FUZZ_EDITS: edits, FUZZ_SEED: seed },
});
process.exitCode = status ?? 1;
