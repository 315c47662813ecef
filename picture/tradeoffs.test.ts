import { describe, expect, test } from 'vitest';
import { check } from '../layout';
import { type Alternatives, alternatives, scoreOf } from '../layout/cost';
import { COSTED_LAYOUT } from '../test/harness/layouts';
import type { Shape } from './diagram';
import { frontOf, type Scatter, scatterOf, scatterRows, tradeoffsHeadline, type Weighed } from './tradeoffs';

const score = (text: string) => {
  const found = scoreOf(check(text));
  if (!found) {
    throw new Error('no score');
  }
  return found;
};

const WEIGHED: Weighed = {
  now: score(COSTED_LAYOUT),
  alternatives: alternatives(COSTED_LAYOUT),
  base: { title: 'the last commit', score: score(COSTED_LAYOUT.replace('tp: 4', 'tp: 8')) },
  change: { title: 'tp 4 → 2', score: score(COSTED_LAYOUT.replace('tp: 4', 'tp: 2')) },
  run: { seconds: 4, totalBytes: 40 * 2 ** 30, timeFactor: 1.16 },
};

function wordsOf(shapes: readonly Shape[]): string[] {
  return shapes.flatMap((shape) =>
    shape.kind === 'group' ? wordsOf(shape.shapes) : shape.kind === 'text' ? [shape.words] : [],
  );
}

const wordsIn = ({ shapes }: Scatter) => wordsOf(shapes);

describe('the scatter', () => {
  test.each([280, 500, 1060])('%i px wide: names all marks inside itself, whatever the width', (width) => {
    const scatter = scatterOf(WEIGHED, width);
    expect(wordsIn(scatter)).toEqual(
      expect.arrayContaining(['this layout', 'the last commit', 'tp 4 → 2', 'last run: 4.0 s, 40 GiB', '80 GiB a GPU']),
    );
    expect(wordsIn(scatter).join(' ')).toContain('1.16 times');
    for (const { x, y } of scatter.points) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(width);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(y).toBeLessThanOrEqual(scatter.height);
    }
  });

  test('lies lower where a step is quicker, and further left where memory is less', () => {
    const { points } = scatterOf(WEIGHED, 800);
    const front = points.filter((point) => point.front >= 0).toSorted((a, b) => a.front - b.front);
    expect(front.length).toBeGreaterThan(2);
    for (const [i, { x, y }] of front.entries()) {
      expect(y).toBeLessThanOrEqual(front[i - 1]?.y ?? y);
      expect(x).toBeLessThanOrEqual(front[i - 1]?.x ?? x);
    }
  });

  test('without a kind of GPU says what it needs', () => {
    const scatter = scatterOf({ ...WEIGHED, alternatives: { ok: false, reason: 'no GPU' } }, 500);
    expect(wordsIn(scatter).join(' ')).toContain('a kind of GPU');
    expect(scatter.points).toEqual([]);
  });
});

describe('the headline', () => {
  const headline = (part: Partial<Weighed>) => tradeoffsHeadline({ ...WEIGHED, ...part }, '').title;
  const { alternatives: all, now } = WEIGHED;
  const quickest = all.ok ? (frontOf(all.points)[0]?.seconds ?? 0) : 0;
  const at = (share: number) => now && { ...now, seconds: quickest * share };

  test('says how many fit, how many are as quick, and where this one stands', () => {
    expect(headline({ now: at(1.4) })).toMatch(
      /^\d+ layouts fit; \d+ are as quick as the quickest\. Yours takes 1\.4 times as long\.$/,
    );
    expect(headline({ now: at(1.05) })).toMatch(/Yours is as quick as any\.$/);
    expect(headline({ now: now && { ...now, gpuBytes: 1 } })).toMatch(/Yours does not fit\.$/);
  });

  test('says that none fits, and why nothing is known', () => {
    const none: Alternatives = { ok: true, gpuBytes: 1, tried: 12, fitting: 0, asQuick: 0, points: [], front: [] };
    expect(headline({ alternatives: none })).toBe('None of 12 layouts fits. Use more GPUs, or larger ones.');
    expect(headline({ alternatives: { ok: false, reason: 'no GPU' } })).toBe('Other layouts are not known: no GPU.');
  });
});

test('the rows are the marks and the front, as text', () => {
  const rows = scatterRows(WEIGHED);
  expect(rows.slice(0, 4).map(([name]) => name)).toEqual(['this layout', 'the last commit', 'tp 4 → 2', 'last run']);
  expect(rows[3]).toEqual(['last run', '4.0 s', '40 GiB']);
  expect(rows).toHaveLength(4 + (WEIGHED.alternatives.ok ? frontOf(WEIGHED.alternatives.points).length : 0));
});
