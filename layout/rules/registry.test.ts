import { describe, expect, test } from 'vitest';
import { applyEdits, check, RULES, soundFixes } from '..';
import { passingText } from './page';

const grave = (text: string) => check(text).diagnostics.filter(({ severity }) => severity !== 'information');

describe.each(RULES.filter(({ beside }) => !beside).map((rule) => [rule.code, rule] as const))('%s', (code, rule) => {
  test('its failing example fires exactly this rule, with its severity', () => {
    const { diagnostics } = check(rule.failing);
    const others = diagnostics.filter(
      (diagnostic) => diagnostic.code !== code && diagnostic.severity !== 'information',
    );
    expect(others).toEqual([]);
    expect(diagnostics.map((diagnostic) => diagnostic.code)).toContain(code);
    expect(diagnostics.find((diagnostic) => diagnostic.code === code)?.severity).toBe(rule.severity);
  });

  test('its passing example fires no rule', () => {
    expect(grave(passingText(rule))).toEqual([]);
    expect(check(passingText(rule)).diagnostics.map((diagnostic) => diagnostic.code)).not.toContain(code);
  });

  test('its fixes fix the failing example and keep its comments', () => {
    const text = `# a comment above\n${rule.failing.trimEnd()} # a comment behind\n`;
    const checked = check(text);
    for (const diagnostic of checked.diagnostics.filter((one) => one.code === code)) {
      for (const { edits } of soundFixes(checked, [diagnostic]).get(diagnostic) ?? []) {
        const fixed = applyEdits(text, edits);
        expect(fixed).toContain('# a comment above');
        expect(check(fixed).diagnostics.filter((one) => one.code === code).length).toBeLessThan(
          checked.diagnostics.filter((one) => one.code === code).length,
        );
      }
    }
  });

  test('its message is a sentence of plain text', () => {
    const said = check(rule.failing).diagnostics.filter((one) => one.code === code);
    for (const { message, related, fixes } of said) {
      expect(message).toMatch(/^.{20,}[.?!]$/s);
      expect(JSON.stringify([message, related, fixes.map(({ title }) => title)])).not.toContain('`');
    }
  });
});

test('codes are unique and in kebab-case', () => {
  const codes = RULES.map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
  for (const code of codes) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
  }
});
