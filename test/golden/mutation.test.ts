import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { applyEdits, check, type Diagnostic, hasErrors, soundFixes } from '../../layout';
import { loadGolden } from './golden';
import { type ParallelInput, parallelText, type TopologyInput, topologyText } from './inputs';

const errorsOf = (text: string): readonly Diagnostic[] =>
  check(text).diagnostics.filter(({ severity }) => severity === 'error');

/** The layouts of the recorded grids. */
const goldenTexts: readonly string[] = [
  ...loadGolden<TopologyInput, unknown>('hetero').flatMap(({ input }) => topologyText(input) ?? []),
  ...loadGolden<ParallelInput, unknown>('homogeneous').map(({ input }) => parallelText(input)),
];

const examples = readdirSync('examples').map((name) => readFileSync(join('examples', name), 'utf8'));

/** Every text that differs from a valid one in a single number. */
function* mutations(text: string): Iterable<string> {
  for (const match of text.matchAll(/(?<=: |\[|, )\d+(?=[\n,}\]]|$)/g)) {
    const value = Number(match[0]);
    for (const other of [value + 1, value * 3, Math.max(0, value - 1)]) {
      if (other !== value) {
        yield text.slice(0, match.index) + other + text.slice(match.index + match[0].length);
      }
    }
  }
}

describe('one mistake, one diagnostic', () => {
  test('a single wrong number in a valid layout mostly gives a single error', () => {
    const valid = [...examples, ...goldenTexts].filter((text) => !hasErrors(check(text)));
    const counts = new Map<number, number>();
    for (const mutated of valid.flatMap((text) => [...mutations(text)])) {
      const { length } = errorsOf(mutated);
      counts.set(length, (counts.get(length) ?? 0) + 1);
    }
    const wrong = [...counts].reduce((total, [errors, n]) => total + (errors > 0 ? n : 0), 0);
    const share = (counts.get(1) ?? 0) / wrong;
    console.log(
      `${wrong} wrong layouts of ${valid.length} valid ones; exactly one error: ${(100 * share).toFixed(1)} %`,
    );
    expect(wrong).toBeGreaterThan(500);
    expect(share).toBeGreaterThan(0.95);
  });
});

describe('fixes', () => {
  test('every fix of a golden invalid layout leaves it without that diagnostic and with no new error', () => {
    let offered = 0;
    for (const text of goldenTexts) {
      const checked = check(text);
      for (const diagnostic of checked.diagnostics.filter(({ severity }) => severity === 'error')) {
        for (const { title, edits } of soundFixes(checked, [diagnostic]).get(diagnostic) ?? []) {
          offered++;
          const before = errorsOf(text).map(({ code }) => code);
          const after = errorsOf(applyEdits(text, edits)).map(({ code }) => code);
          const count = (codes: readonly string[], code: string) => codes.filter((one) => one === code).length;
          expect(count(after, diagnostic.code), title).toBeLessThan(count(before, diagnostic.code));
          for (const code of after) {
            expect(count(after, code), `${title}: ${code}`).toBeLessThanOrEqual(count(before, code));
          }
        }
      }
    }
    expect(offered).toBeGreaterThan(50);
  });

  test('most golden invalid layouts with a single error have a fix that holds', () => {
    const single = goldenTexts.filter((text) => errorsOf(text).length === 1);
    const fixable = single.filter((text) => {
      const checked = check(text);
      const errors = checked.diagnostics.filter(({ severity }) => severity === 'error');
      return [...soundFixes(checked, errors).values()].some((fixes) => fixes.length > 0);
    });
    console.log(`${fixable.length} of ${single.length} layouts with one error have a fix that holds`);
    expect(fixable.length / single.length).toBeGreaterThan(0.5);
  });
});
