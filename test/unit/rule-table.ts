import { expect, test } from 'vitest';
import { applyEdits, check, type Diagnostic, soundFixes } from '../../layout';

/** A diagnostic as a table states it: its code, the text that is underlined, and Megatron-LM's words where it has any. */
export type Row = readonly [code: string, underlined: string, predicts?: string | null];

/** One file and everything that is said of it. */
export interface Case {
  readonly title: string;
  readonly text: string;
  readonly diagnostics: readonly Row[];
}

/**
 * Checks files against what should be said of them: all diagnostics of the given codes, and every error whatever its code.
 * Every fix that holds must mend its diagnostic.
 */
export function checkTable(codes: readonly string[], cases: readonly Case[]): void {
  test.each(cases)('$title', ({ text, diagnostics }) => {
    const checked = check(text);
    const said = checked.diagnostics.filter(({ code, severity }) => severity === 'error' || codes.includes(code));
    expect(said.map((diagnostic) => rowOf(text, diagnostic))).toEqual(
      diagnostics.map(([a, b, c]) => [a, b, c ?? null]),
    );
    for (const diagnostic of said) {
      for (const { edits } of soundFixes(checked, [diagnostic]).get(diagnostic) ?? []) {
        const left = check(applyEdits(text, edits)).diagnostics.filter(({ code }) => code === diagnostic.code);
        expect(left.length).toBeLessThan(said.filter(({ code }) => code === diagnostic.code).length);
      }
    }
  });
}

function rowOf(text: string, { code, span, predicts }: Diagnostic): [string, string, string | null] {
  return [code, text.slice(span.start, span.end), predicts];
}

/** A layout of `parallelism` in a few words: `job(16, 'tp: 2', 'fsdp: {enabled: true}')`. */
export function job(ranks: number, degrees: string, ...rest: readonly string[]): string {
  return ['layout: 1', `world_size: ${ranks}`, `parallelism: {${degrees}}`, ...rest, ''].join('\n');
}
