import { describe, expect, test } from 'vitest';
import { levelsInForce, levelsOfSettings, readConfiguration } from './service';

/** What a configuration says, with the text at each problem. */
function said(text: string): unknown {
  const { levels, problems } = readConfiguration(text);
  const wrong = problems.map(({ message, span }) => `${JSON.stringify(text.slice(span.start, span.end))}: ${message}`);
  return { ...Object.fromEntries(levels), ...(wrong.length > 0 && { wrong }) };
}

describe('a configuration', () => {
  test.each<readonly [string, unknown]>([
    ['', {}],
    ['# nothing yet\n', {}],
    ['rules:\n', {}],
    [
      'rules: {dense-factorization: warning, tp-crosses-nvlink: off}\n',
      { 'dense-factorization': 'warning', 'tp-crosses-nvlink': 'off' },
    ],
    ['rules:\n  dense-factorization: "error"\n', { 'dense-factorization': 'error' }],
    [
      'rules: {dense-factorisation: off}\n',
      { wrong: [`"dense-factorisation": there is no rule 'dense-factorisation'`] },
    ],
    [
      'rules:\n  dense-factorization: never\n  tp-crosses-nvlink: off\n',
      {
        'tp-crosses-nvlink': 'off',
        wrong: ['"dense-factorization": dense-factorization must be off, information, warning or error'],
      },
    ],
    [
      'rules: {dense-factorization: [off]}\n',
      { wrong: ['"dense-factorization": dense-factorization must be off, information, warning or error'] },
    ],
    ['rule: {}\n', { wrong: [`"rule": has no key 'rule'; it has rules`] }],
    ['rules: [a]\n', { wrong: ['"rules": rules must be a map of codes to off, information, warning or error'] }],
    ['- 1\n', { wrong: ['"- 1": must be a map with the key rules'] }],
    ['rules: {toString: off}\n', { wrong: [`"toString": there is no rule 'toString'`] }],
  ])('%j', (text, expected) => {
    expect(said(text)).toEqual(expected);
  });

  test('that is no YAML says so and has no severities', () => {
    const { levels, problems } = readConfiguration('rules: [\n');
    expect([levels.size, problems.length]).toEqual([0, 1]);
  });
});

test('settings win over a project, rule by rule; what is no severity of a rule is passed over', () => {
  const settings = levelsOfSettings({ 'dense-factorization': 'error', 'no-rule': 'off', 'tp-crosses-nvlink': 1 });
  const { levels } = readConfiguration('rules: {dense-factorization: off, tp-crosses-nvlink: off}');
  expect(Object.fromEntries(levelsInForce(levels, settings))).toEqual({
    'dense-factorization': 'error',
    'tp-crosses-nvlink': 'off',
  });
  expect(levelsOfSettings('off').size).toBe(0);
});
