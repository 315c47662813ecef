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

  test('of conditions a rank that stands back yields to one that does not', () => {
    const square = (...steps: number[]) => joinedSteps(Uint8Array.from(steps), { width: 2, height: 2 }, 2, 'worst')[0];
    expect(square(0, FADED | 2, FADED | 2, FADED)).toBe(0);
    expect(square(FADED, FADED | 2, FADED | 1, FADED)).toBe(FADED | 2);
  });

  test('ordered values are averaged, and an empty cell counts only where there is nothing else', () => {
    const square = (...steps: number[]) => joinedSteps(Uint8Array.from(steps), { width: 2, height: 2 }, 2, 'mean')[0];
    expect(square(0, 10, 20, 30)).toBe(15);
    expect(square(NONE, NONE, 8, 9)).toBe(9);
    expect(square(NONE, NONE, NONE, NONE)).toBe(NONE);
    expect(square(4, FADED | 100, FADED | 100, 6)).toBe(5);
    expect(square(FADED | 3, NONE, FADED | 5, NONE)).toBe(FADED | 4);
  });

  test('mixed categories keep their shares over a tile', () => {
    // three of four ranks are of category 1, in every square
    const steps = Uint8Array.from({ length: 16 * 16 }, (_, at) =>
      at % 2 === 0 && Math.floor(at / 16) % 2 === 0 ? 5 : 1,
    );
    const joined = joinedSteps(steps, { width: 16, height: 16 }, 2, 'share');
    expect(joined.filter((step) => step === 1)).toHaveLength(48);
    expect(joined.filter((step) => step === 5)).toHaveLength(16);
  });

  test('a square of one category keeps it, whatever lies beside it', () => {
    const steps = Uint8Array.from({ length: 16 * 16 }, (_, at) => (at % 16 < 8 ? 3 : at % 2));
    const joined = joinedSteps(steps, { width: 16, height: 16 }, 2, 'share');
    for (let row = 0; row < 8; row++) {
      expect([...joined.subarray(row * 8, row * 8 + 4)]).toEqual([3, 3, 3, 3]);
    }
    expect(joined.filter((step) => step === 0)).toHaveLength(16);
  });

  test('a picture whose size does not divide keeps its last column and row', () => {
    const steps = new Uint8Array(9);
    steps[8] = 1;
    expect([...joinedSteps(steps, { width: 3, height: 3 }, 2, 'worst')]).toEqual([0, 0, 0, 1]);
    expect([...joinedSteps(steps, { width: 3, height: 3 }, 2, 'share')]).toEqual([0, 0, 0, 1]);
  });
});
