import { describe, expect, test } from 'vitest';
import { nastyTexts } from '../test/fuzz/nastyTexts';
import { applyEdits, check, hasErrors, soundFixes } from '.';
import { MAX_DIAGNOSTICS } from './format/limits';

const diagnosticsOf = (text: string) => check(text).diagnostics;
const codes = (text: string) => [...new Set(diagnosticsOf(text).map(({ code }) => code))];

describe('a text that is no layout', () => {
  const named = new Map(nastyTexts());
  test.each([
    ...['"["', '"{"', '"- "', '"? "', '"{a: "', '"[a: "'].map((part) => [`${part} nested`, 'file-too-large']),
    ['100,000 [', 'file-too-large'],
    ['a billion laughs', 'file-too-large'],
    ['a billion laughs of maps', 'file-too-large'],
    ['laughs in non_active_ranks_per_dp', 'file-too-large'],
    ['a chain of aliases', 'file-too-large'],
    ['an alias of itself', 'yaml-syntax'],
    ['one line of 500 KB', 'file-too-large'],
    ['5 MB', 'file-too-large'],
    ['a long order', 'file-too-large'],
    ['a mistake in a long file', 'file-too-large'],
    ['a number of 100,000 digits', 'number-too-large'],
    ['NUL', 'yaml-syntax'],
    ['NUL only', 'yaml-syntax'],
    ['U+FFFD', 'yaml-syntax'],
    ['a second document', 'yaml-syntax'],
  ])('%s: only %s', (name, code) => {
    expect(codes(named.get(name ?? '') ?? '')).toEqual([code]);
  });

  test('lone surrogates and line separators are read, and are no characters for a text', () => {
    const text = 'layout: 1\nname: "\ud83d \u2028 \u0085"\nworld_size: 8\nparallelism: {tp: 2}\n';
    expect(diagnosticsOf(text).map(({ code }) => code)).toEqual(['unsafe-character']);
  });

  test('names that JavaScript gives to every object are names like any other', () => {
    const text =
      'layout: 1\nworld_size: 8\nmodules:\n  __proto__: {num_ranks: 4}\n  language: {num_ranks: 4, rank_offset: 4}\n';
    expect(diagnosticsOf(text)).toEqual([]);
    expect(check(text).resolved?.modules.map(({ name }) => name)).toEqual(['__proto__', 'language']);
    expect(codes('layout: 1\nworld_size: 8\nparallelism: {constructor: 1, toString: 2}\n')).toEqual(['unknown-key']);
  });
});

describe('more diagnostics than anyone reads', () => {
  const head = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n';
  const wrong = (count: number) => head + Array.from({ length: count }, (_, i) => `k${i}: 1\n`).join('');

  test('are listed up to the limit', () => {
    expect(diagnosticsOf(wrong(MAX_DIAGNOSTICS))).toHaveLength(MAX_DIAGNOSTICS);
    expect(codes(wrong(MAX_DIAGNOSTICS))).toEqual(['unknown-key']);
  });

  test('beyond it one diagnostic says that there are others', () => {
    const diagnostics = diagnosticsOf(wrong(MAX_DIAGNOSTICS + 1));
    expect(diagnostics).toHaveLength(MAX_DIAGNOSTICS + 1);
    const more = diagnostics.filter(({ code }) => code === 'file-too-large');
    expect(more).toHaveLength(1);
    expect(more[0]).toMatchObject({ severity: 'error', span: { start: 0 } });
    expect(more[0]?.message).toContain('1,000');
  });

  test('never hide that a file has errors', () => {
    expect(hasErrors(check(wrong(3 * MAX_DIAGNOSTICS)))).toBe(true);
  });
});

describe('fixes of a long file with many errors', () => {
  const module = (i: number) =>
    `  ${i === 0 ? 'language' : `m${i}`}:\n    rank_offset: ${i * 8}\n    num_ranks: 8\n    tp: 3\n`;
  const wrong = (modules: number) =>
    `layout: 1\nworld_size: 16000\nmodules:\n${Array.from({ length: modules }, (_, i) => module(i)).join('')}${'# a comment\n'.repeat(10_000)}`;

  test('are tried as far as the work allows; those that are offered hold', () => {
    const text = wrong(900);
    const checked = check(text);
    const offered = [...soundFixes(checked).values()];
    expect(checked.diagnostics).toHaveLength(900);
    expect(offered[0]?.length).toBeGreaterThan(0);
    expect(offered.at(-1)).toEqual([]);
    for (const fix of offered.flat().slice(0, 3)) {
      const after = check(applyEdits(text, fix.edits));
      expect(after.diagnostics.length).toBeLessThan(checked.diagnostics.length);
    }
  });

  test('of a short file are all tried', () => {
    const checked = check(wrong(20).replaceAll('# a comment\n', ''));
    expect([...soundFixes(checked).values()].every((fixes) => fixes.length > 0)).toBe(true);
  });
});

test('a file with more errors than are listed has no fix that is known to hold', () => {
  const text = `layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n${Array.from({ length: MAX_DIAGNOSTICS + 1 }, (_, i) => `k${i}: 1\n`).join('')}`;
  expect([...soundFixes(check(text)).values()].flat()).toEqual([]);
});
