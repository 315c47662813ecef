import { describe, expect, test } from 'vitest';
import { familiesOf } from './rankDetails';
import { type GroupResult, OUTCOMES, SmokeOutcome, type SmokeReport, smokeHeadline } from './smokeOutcome';
import { onNodes } from './testing';

/** Eight ranks: `tp` has two groups of four, and `dp` four of two. */
const layout = onNodes(1, 'tp: 4');

const groupsOf = (names: readonly string[]): GroupResult[] =>
  familiesOf(layout)
    .filter(({ name, size }) => size > 1 && names.includes(name))
    .flatMap(({ name, module, count }) =>
      Array.from({ length: count }, (_, index) => ({ name, module, index, ok: true, busGBs: null })),
    );

const ORIGIN = { cluster: 'local', device: 'CPU', started: '2026-11-22T14:03:00', seconds: 12.34 };
const REPORT: SmokeReport = { verdict: 'rank_lost', groups: groupsOf(['tp']), suspects: [1], origin: ORIGIN };

const outcomeOf = (report: SmokeReport, rank: number, kind = '') => {
  const colouring = new SmokeOutcome(layout, report).outcomeColouring(kind);
  return OUTCOMES[colouring.valueOf(rank)]?.label;
};

describe('the result of a smoke job', () => {
  test('a group that was not reached does not take away what a rank has passed', () => {
    expect(outcomeOf(REPORT, 0)).toBe('some groups passed');
    expect(outcomeOf(REPORT, 0, 'tp')).toBe('passed');
    expect(outcomeOf(REPORT, 0, 'dp')).toBe('no result');
    expect(outcomeOf(REPORT, 1)).toBe('failed');
  });

  test('the colours of all ranks are those of each', () => {
    const colouring = new SmokeOutcome(layout, REPORT).outcomeColouring('');
    const filled = new Int32Array(8).fill(-1);
    colouring.fill?.(filled, (value) => value);
    expect([...filled]).toEqual(Array.from({ length: 8 }, (_, rank) => colouring.valueOf(rank)));
  });

  test('while it runs, ranks come up, pass groups, and are done', () => {
    const step = { text: '3 of 8 ranks up', up: [0, 1, 2] };
    const running = { verdict: '', groups: [], suspects: [], running: step };
    expect([0, 2, 3].map((rank) => outcomeOf(running, rank))).toEqual(['up', 'up', 'no result']);
    expect(outcomeOf({ ...running, groups: groupsOf(['tp']) }, 0)).toBe('some groups passed');
    expect(outcomeOf({ ...running, groups: groupsOf(familiesOf(layout).map(({ name }) => name)) }, 0)).toBe('passed');
    expect(new SmokeOutcome(layout, { ...running, groups: groupsOf(['tp']) }).describe(0)).toEqual([
      expect.stringMatching(/^1 of \d+ groups$/),
    ]);
    expect(smokeHeadline(layout, new SmokeOutcome(layout, running)).title).toBe('Smoke job: 3 of 8 ranks up.');
  });

  test('the headline says why it failed, and below it where, on what and when it ran', () => {
    const message = 'Rank 1 on n1 was killed (signal 9, SIGKILL). It was importing torch.\nmore';
    const { title, sub } = smokeHeadline(layout, new SmokeOutcome(layout, { ...REPORT, message }));
    expect(title).toBe('Smoke job failed: Rank 1 on n1 was killed (signal 9, SIGKILL). It was importing torch.');
    expect(sub).toBe('local · CPU · 22 Nov 2026, 14:03 · 12.3 s · 8 ranks on 1 node · tp 4 × dp 2');
  });
});
