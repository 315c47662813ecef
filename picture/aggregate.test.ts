import { describe, expect, test } from 'vitest';
import { joinedSteps } from './aggregate';

const NONE = 126;
const FADED = 128;

describe('cells smaller than a pixel', () => {
  test('one failed rank in a million stays visible at every level', () => {
    const size = { width: 1024, height: 1024 };
    const steps = new Uint8Array(1024 * 1024);
    steps[517 * 1024 + 301] = 2;
    for (const factor of [2, 4, 8, 64]) {
      const joined = joinedSteps(steps, size, factor, 'worst');
      expect(joined.filter((step) => step === 2)).toHaveLength(1);
      expect(joined[Math.floor(517 / factor) * (1024 / factor) + Math.floor(301 / factor)]).toBe(2);
    }
  });

  test('without conditions the value in the middle of those that are sorted stands for a square, and a gap never does', () => {
    const square = (...steps: number[]) => joinedSteps(Uint8Array.from(steps), { width: 2, height: 2 }, 2, 'share')[0];
    expect(square(3, 5, 5, 1)).toBe(3);
    expect(square(7, 4, 4, 7)).toBe(4);
    expect(square(NONE, NONE, NONE, 6)).toBe(6);
    expect(square(NONE, NONE, NONE, NONE)).toBe(NONE);
  });

  test('of conditions a rank that stands back yields to one that does not', () => {
    const square = (...steps: number[]) => joinedSteps(Uint8Array.from(steps), { width: 2, height: 2 }, 2, 'worst')[0];
    expect(square(0, FADED | 2, FADED | 2, FADED)).toBe(0);
    expect(square(FADED, FADED | 2, FADED | 1, FADED)).toBe(FADED | 2);
  });

  test('a picture whose size does not divide keeps its last column and row', () => {
    const steps = new Uint8Array(9);
    steps[8] = 1;
    expect([...joinedSteps(steps, { width: 3, height: 3 }, 2, 'worst')]).toEqual([0, 0, 0, 1]);
  });
});
