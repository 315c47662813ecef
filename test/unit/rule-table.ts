import { expect, test } from 'vitest';
import { applyEdits, check, type Finding, SoundFixes } from '../../layout';

/** A finding as a table states it: its code, the text that is underlined, and Megatron-LM's words where it has any. */
export type Row = readonly [code: string, underlined: string, predicts?: string | null];

/** One file and everything that is said of it. */
export interface Case {
  readonly title: string;
  readonly text: string;
  readonly findings: readonly Row[];
}

/**
 * Checks files against what should be said of them: all findings of the given codes, and every error whatever its code.
 * Every fix that holds must mend its finding.
 */
export function checkTable(codes: readonly string[], cases: readonly Case[]): void {
  test.each(cases)('$title', ({ text, findings }) => {
    const checked = check(text);
    const said = checked.findings.filter(({ code, severity }) => severity === 'error' || codes.includes(code));
    expect(said.map((finding) => rowOf(text, finding))).toEqual(findings.map(([a, b, c]) => [a, b, c ?? null]));
    for (const finding of said) {
      for (const { edits } of new SoundFixes(checked).of(finding)) {
        const left = check(applyEdits(text, edits)).findings.filter(({ code }) => code === finding.code);
        expect(left.length).toBeLessThan(said.filter(({ code }) => code === finding.code).length);
      }
    }
  });
}

function rowOf(text: string, { code, span, predicts }: Finding): [string, string, string | null] {
  return [code, text.slice(span.start, span.end), predicts];
}

/** A layout of `parallelism` in a few words: `job(16, 'tp: 2', 'fsdp: {enabled: true}')`. */
export function job(ranks: number, degrees: string, ...rest: readonly string[]): string {
  return ['layout: 1', `world_size: ${ranks}`, `parallelism: {${degrees}}`, ...rest, ''].join('\n');
}
