import { expect } from 'vitest';
import { type Checked, type Diagnostic, diagnosticData, processGroups, RULES } from '../../layout';
import { MAX_MESSAGE } from '../../layout/format/limits';

const CODES = new Set(RULES.map(({ code }) => code));

/** The diagnostics of a text, which can be shown, as can its groups for lenses and hovers. */
export function expectShowable(checked: Checked): readonly Diagnostic[] {
  const { text } = checked;
  // an assertion for each of a hundred thousand places would take minutes
  const wrong: unknown[] = [];
  const must = (holds: boolean, what: unknown) => holds || wrong.push(what);
  for (const { name, count, size } of checked.resolved ? processGroups(checked.resolved) : []) {
    must(count * size >= 0, name);
  }
  for (const diagnostic of checked.diagnostics) {
    const { code, message, span, related, fixes } = diagnostic;
    must(CODES.has(code), code);
    must(message.length <= MAX_MESSAGE + 1, message);
    const edits = fixes.flatMap((fix) => fix.edits);
    for (const place of [span, ...related.map((one) => one.span), ...edits.map((edit) => edit.span)]) {
      must(0 <= place.start && place.start <= place.end && place.end <= text.length, { code, place });
    }
    diagnosticData(diagnostic, checked.lines);
  }
  expect(wrong).toEqual([]);
  return checked.diagnostics;
}
