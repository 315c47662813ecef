import { expect } from 'vitest';
import { type Checked, type Diagnostic, diagnosticData, processGroups, RULES } from '../../layout';
import { MAX_MESSAGE } from '../../layout/format/limits';

const CODES = new Set(RULES.map(({ code }) => code));

/** The diagnostics of a text, which can be shown, as can its groups for lenses and hovers. */
export function expectShowable(checked: Checked): readonly Diagnostic[] {
  const { text } = checked;
  for (const { name, count, size } of checked.resolved ? processGroups(checked.resolved) : []) {
    expect(count * size, name).toBeGreaterThanOrEqual(0);
  }
  for (const diagnostic of checked.diagnostics) {
    const { code, message, span, related, fixes } = diagnostic;
    expect(CODES).toContain(code);
    expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE + 1);
    const edits = fixes.flatMap((fix) => fix.edits);
    for (const place of [span, ...related.map((one) => one.span), ...edits.map((edit) => edit.span)]) {
      expect(place.start).toBeGreaterThanOrEqual(0);
      expect(place.end).toBeGreaterThanOrEqual(place.start);
      expect(place.end).toBeLessThanOrEqual(text.length);
    }
    diagnosticData(diagnostic, checked.lines);
  }
  return checked.diagnostics;
}
