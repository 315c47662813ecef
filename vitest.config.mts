import { defineConfig } from 'vitest/config';

const common = { testTimeout: 60_000, hookTimeout: 60_000 };

/** What starts no process and needs no build, and what talks to the built programs. */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...common,
          name: 'fast',
          include: ['{layout,server,jobs,picture,webview,cli}/**/*.test.ts', 'test/{unit,golden}/**/*.test.ts'],
        },
      },
      { test: { ...common, name: 'protocol', include: ['test/{protocol,cli}/**/*.test.ts'] } },
      { test: { ...common, name: 'jobs', include: ['test/smoke/**/*.test.ts'] } },
    ],
  },
});
