import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,golden,protocol,cli,smoke}/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: true,
    maxWorkers: 2,
  },
});
