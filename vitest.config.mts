import { defineConfig } from 'vitest/config';

/** Tests beside their code, and Megatron-LM's recorded verdicts: no build, no process, no state that files could share. */
const FAST = ['{layout,server,jobs,picture,webview,cli}/**/*.test.ts', 'test/{unit,golden}/**/*.test.ts'];

/** Properties of all layouts that take seconds: the fuzz project has them, not the inner loop. */
const SLOW = ['test/golden/{launch-round-trip,mutation}.test.ts'];

/** What the fuzz project tries more often than the fast project does. */
const PROPERTIES = ['layout/{format,topology}/*.test.ts', 'test/golden/differential.test.ts'];

const common = { testTimeout: 120_000, hookTimeout: 120_000 };

/** A test that comes to no assertion fails; those that speak with a process assert by waiting, too. */
const asserting = { expect: { requireAssertions: true } };

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: { ...common, ...asserting, name: 'fast', include: FAST, exclude: SLOW, pool: 'threads', isolate: false },
      },
      {
        test: {
          ...common,
          ...asserting,
          name: 'fuzz',
          include: [...PROPERTIES, ...SLOW, 'test/fuzz/*.test.ts'],
          env: { FUZZ_FACTOR: process.env.FUZZ_FACTOR ?? '1' },
        },
      },
      { test: { ...common, name: 'protocol', include: ['test/{protocol,cli}/**/*.test.ts'] } },
      { test: { ...common, name: 'jobs', include: ['test/clusters/**/*.test.ts'] } },
      { test: { ...common, name: 'panel', include: ['test/grid/*.test.ts'] } },
      {
        test: {
          ...common,
          name: 'editor',
          include: ['test/editor/*.test.ts'],
          globalSetup: 'test/harness/sharedEditor.ts',
          // all windows are the same person's, whose settings each file sets
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
