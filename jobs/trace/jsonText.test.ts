import { expect, test } from 'vitest';
import { readJson } from './jsonText';
import { Dict, type Value } from './value';

function plain(value: Value | undefined): unknown {
  if (value instanceof Dict) {
    return Object.fromEntries([...value.entries()].map(([key, item]) => [key, plain(item)]));
  }
  return Array.isArray(value) ? (value as readonly Value[]).map(plain) : value;
}

const TEXT = ' {"a": [1, -2.5e3, "x\\"\\u00e9\\\\"], "b": {"c": null, "d": [true, false, {}, []]}, "e": ""} ';

test('reads what JSON.parse reads', () => {
  const { value, problem } = readJson(TEXT);
  expect(problem).toBeNull();
  expect(plain(value)).toEqual(JSON.parse(TEXT));
});

test('cut at any character it gives what stands before, and says so', () => {
  const end = TEXT.trimEnd().length;
  for (let cut = 0; cut < end; cut++) {
    const { value, problem } = readJson(TEXT.slice(0, cut));
    expect(problem).not.toBeNull();
    expect(Object.keys((plain(value) as object | undefined) ?? {}).every((key) => 'abe'.includes(key))).toBe(true);
  }
});

test.each(['{"a" 1}', '{1: 2}', '[1 2]', '[1,]', '{"a": 1} {}', 'nul', '"\\x"', '', '[1', `${'['.repeat(1e5)}`])(
  'refuses %s',
  (text) => {
    expect(readJson(text).problem).not.toBeNull();
  },
);

test('reads long texts without a stack', () => {
  const long = `{"a": "${'x\\\\'.repeat(1_000_000)}"}`;
  expect(plain(readJson(long).value)).toEqual(JSON.parse(long));
});

test.each(['[],', '{},', '1,', '"",', '{"a":[1,'])('values without number are not read: %s', (one) => {
  const { value, problem } = readJson(`[${one.repeat(5 * 2 ** 20)}`);
  expect([value, problem]).toEqual([undefined, 'holds more than 4194304 values']);
});

test('commas in texts, such as those of long lists of ranks, are no values', () => {
  expect(readJson(JSON.stringify({ ranks: '1, \\" 2,'.repeat(3 * 2 ** 20) })).problem).toBeNull();
});
