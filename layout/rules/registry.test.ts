import { describe, expect, test } from 'vitest';
import { applyEdits, check, RULES, soundFixes } from '..';
import { passingText } from './page';

const grave = (text: string) => check(text).diagnostics.filter(({ severity }) => severity !== 'information');

/** Rules whose example is a layout alone, not one beside a launch file. */
const ALONE = RULES.filter(({ beside }) => !beside);

describe.each(ALONE.map((rule) => [rule.code, rule] as const))('%s', (code, rule) => {
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

  test('its message is a sentence of plain text', () => {
    const said = check(rule.failing).diagnostics.filter((one) => one.code === code);
    expect(said).not.toEqual([]);
    for (const { message, related, fixes } of said) {
      expect(message).toMatch(/^.{20,}[.?!]$/s);
      expect(JSON.stringify([message, related, fixes.map(({ title }) => title)])).not.toContain('`');
    }
  });
});

/** Every fix of every failing example, which stands between two comments here. */
const FIXES = ALONE.flatMap(({ code, failing }) => {
  const text = `# a comment above\n${failing.trimEnd()} # a comment behind\n`;
  const checked = check(text);
  const own = checked.diagnostics.filter((one) => one.code === code);
  const fixes = own.flatMap((one) => soundFixes(checked, [one]).get(one) ?? []);
  return fixes.map(({ title, edits }) => ({ code, title, before: own.length, fixed: applyEdits(text, edits) }));
});

test.each(FIXES)('$code: "$title" fixes the example and keeps its comments', ({ code, before, fixed }) => {
  expect(fixed).toContain('# a comment above');
  expect(check(fixed).diagnostics.filter((one) => one.code === code).length).toBeLessThan(before);
});

test('most rules have a fix for their example', () => {
  expect(new Set(FIXES.map(({ code }) => code)).size).toBeGreaterThan(0.8 * ALONE.length);
});

test('codes are unique and in kebab-case', () => {
  const codes = RULES.map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
  for (const code of codes) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
  }
});
