import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nastyTexts } from '../test/unit/nasty';
import {
  applyEdits,
  type Checked,
  check,
  type Diagnostic,
  diagnosticData,
  hasErrors,
  parseTree,
  processGroups,
  RULES,
  type Span,
  soundFixes,
  type Tree,
} from '.';
import { MAX_DIAGNOSTICS, MAX_MESSAGE } from './format/limits';

const CODES = new Set(RULES.map(({ code }) => code));

/** Far more than any text takes, even on a machine that is slow: what grows with the world's size takes minutes, or all memory. */
const MAX_CPU_SECONDS = 5;

/** Checks a text, at a cost that is bounded in processor time, which other programs do not change. */
function cheaply(text: string): Checked {
  const start = process.cpuUsage();
  const checked = check(text);
  // what lenses and hovers ask of the layout on every change
  for (const { name, count, size } of checked.resolved ? processGroups(checked.resolved) : []) {
    expect(count * size, name).toBeGreaterThanOrEqual(0);
  }
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1e6, text.slice(0, 1000)).toBeLessThan(MAX_CPU_SECONDS);
  return checked;
}

/** Checks a text, and that what is said of it can be shown. */
function diagnosticsOf(text: string): readonly Diagnostic[] {
  const checked = cheaply(text);
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

/** Where a file has whole numbers. */
function numberSpans(node: Tree['root']): Span[] {
  switch (node?.kind) {
    case 'map':
      return node.entries.flatMap(({ value }) => numberSpans(value));
    case 'list':
      return node.items.flatMap(numberSpans);
    case 'scalar':
      return /^\d+$/.test(node.source) ? [node.span] : [];
    default:
      return [];
  }
}

const codes = (text: string) => [...new Set(diagnosticsOf(text).map(({ code }) => code))];

describe('whatever a file holds, it is checked', () => {
  test.each(nastyTexts())('%s', (_, text) => {
    const diagnostics = diagnosticsOf(text);
    for (const severity of ['error', 'warning', 'information']) {
      expect(diagnostics.filter((diagnostic) => diagnostic.severity === severity).length).toBeLessThanOrEqual(
        MAX_DIAGNOSTICS + 1,
      );
    }
  });

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

  test('lone surrogates and line separators are text like any other', () => {
    const text = 'layout: 1\nname: "\ud83d \u2028 \u0085"\nworld_size: 8\nparallelism: {tp: 2}\n';
    expect(diagnosticsOf(text)).toEqual([]);
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

describe('random files', () => {
  const examples = readdirSync('examples').map((name) => readFileSync(`examples/${name}`, 'utf8'));
  const sources = [...examples, ...RULES.flatMap(({ failing, passing }) => [failing, passing])];
  const words = sources.join('\n').match(/\w+|[^\w\n]|\n */g) ?? [];

  test('made of the words of layouts are checked', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 80, size: 'max' }), (parts) => {
        diagnosticsOf(parts.join(''));
      }),
      { numRuns: 3000 },
    );
  });

  const NUMBERS = [
    0,
    1,
    2,
    3,
    7,
    12,
    97,
    1023,
    4096,
    46_341,
    65_537,
    2 ** 20,
    16_777_213,
    2 ** 30,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 40,
  ];

  test('made by putting huge and odd numbers into layouts are checked', () => {
    const change = fc.tuple(fc.nat(), fc.constantFrom(...NUMBERS));
    fc.assert(
      fc.property(fc.constantFrom(...sources), fc.array(change, { minLength: 1, maxLength: 5 }), (text, changes) => {
        const changed = changes.reduce((now, [which, number]) => {
          const spans = numberSpans(parseTree(now).root);
          const span = spans[which % spans.length];
          return span ? now.slice(0, span.start) + number + now.slice(span.end) : now;
        }, text);
        diagnosticsOf(changed);
      }),
      { numRuns: 3000 },
    );
  });

  test('made by changing layouts are checked', () => {
    const change = fc.tuple(fc.nat(), fc.nat(8), fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 4 })));
    fc.assert(
      fc.property(fc.constantFrom(...sources), fc.array(change, { minLength: 1, maxLength: 5 }), (text, changes) => {
        const changed = changes.reduce((now, [where, removed, added]) => {
          const at = where % (now.length + 1);
          return now.slice(0, at) + added + now.slice(at + removed);
        }, text);
        diagnosticsOf(changed);
      }),
      { numRuns: 3000 },
    );
  });
});
