import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { check, parseTree, RULES, type Span, type Tree } from '../../layout';
import { passingText } from '../../layout/rules/page';
import { runs } from '../harness/property';
import { expectShowable } from './expectShowable';

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

describe('random files', () => {
  const examples = readdirSync('examples').map((name) => readFileSync(`examples/${name}`, 'utf8'));
  const sources = [...examples, ...RULES.flatMap((rule) => [rule.failing, passingText(rule)])];
  const words = sources.join('\n').match(/\w+|[^\w\n]|\n */g) ?? [];

  test('made of the words of layouts are checked', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 80, size: 'max' }), (parts) => {
        expectShowable(check(parts.join('')));
      }),
      runs(3000),
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
        expectShowable(check(changed));
      }),
      runs(3000),
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
        expectShowable(check(changed));
      }),
      runs(3000),
    );
  });
});
