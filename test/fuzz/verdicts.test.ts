import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { gradedRun, randomRun } from '../harness/randomRun';

/** How many runs are tried; `npm run bench:verdicts` tries 2,000. */
const RUNS = 200 * Number(process.env.FUZZ_FACTOR ?? 1);

const folder = mkdtempSync(join(tmpdir(), 'random-runs-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('no random run with planted faults gets a confident wrong answer', () => {
  const graded = Array.from({ length: RUNS }, (_, i) => {
    const random = randomRun(i + 1);
    const whole = random.missing.length === 0 && random.cut.size === 0 && random.run.moments === undefined;
    return { seed: random.seed, whole, ...gradedRun(random, folder) };
  });
  expect(graded.filter(({ grade }) => grade === 'confident-wrong').map(({ seed }) => seed)).toEqual([]);
  const whole = graded.filter((one) => one.whole);
  expect(whole.filter(({ hung, grade }) => !hung && grade !== 'right').map(({ seed }) => seed)).toEqual([]);
  expect(whole.filter(({ grade }) => grade === 'right').length / whole.length).toBeGreaterThan(0.9);
});
