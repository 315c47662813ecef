import { describe, expect, test } from 'vitest';
import { applyEdits, check, RULES, SoundFixes } from '../../layout';

const grave = (text: string) => check(text).findings.filter(({ severity }) => severity !== 'information');

describe.each(RULES.map((rule) => [rule.code, rule] as const))('%s', (code, rule) => {
  test('its failing example fires exactly this rule, with its severity', () => {
    const { findings } = check(rule.failing);
    const others = findings.filter((finding) => finding.code !== code && finding.severity !== 'information');
    expect(others).toEqual([]);
    expect(findings.map((finding) => finding.code)).toContain(code);
    expect(findings.find((finding) => finding.code === code)?.severity).toBe(rule.severity);
  });

  test('its passing example fires no rule', () => {
    expect(grave(rule.passing)).toEqual([]);
    expect(check(rule.passing).findings.map((finding) => finding.code)).not.toContain(code);
  });

  test('its fixes mend the failing example and keep its comments', () => {
    const text = `# a comment above\n${rule.failing.trimEnd()} # a comment behind\n`;
    const checked = check(text);
    for (const finding of checked.findings.filter((one) => one.code === code)) {
      for (const { edits } of new SoundFixes(checked).of(finding)) {
        const mended = applyEdits(text, edits);
        expect(mended).toContain('# a comment above');
        expect(check(mended).findings.filter((one) => one.code === code).length).toBeLessThan(
          checked.findings.filter((one) => one.code === code).length,
        );
      }
    }
  });

  test('its message names what is wrong and how to mend it', () => {
    const finding = check(rule.failing).findings.find((one) => one.code === code);
    expect(finding?.message).toMatch(/[.?!]$/);
    expect(finding?.message.length).toBeGreaterThan(20);
  });
});

test('codes are unique and in kebab-case', () => {
  const codes = RULES.map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
  for (const code of codes) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
  }
});
