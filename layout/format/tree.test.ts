import { describe, expect, test } from 'vitest';
import { type Node, parseTree, type Span } from '..';
import { MAX_DEPTH, MAX_FULL_YAML, MAX_NODES, MAX_TEXT } from './limits';

/** What a node holds, without its places. */
function plain(node: Node | null): unknown {
  switch (node?.kind) {
    case 'map':
      return node.entries.map(({ key, value }) => [key, plain(value)]);
    case 'list':
      return node.items.map(plain);
    default:
      return node?.value;
  }
}

const read = (text: string) => plain(parseTree(text).root);
const shown = (text: string, { start, end }: Span) => text.slice(start, end);

/** The node behind a path of keys and indices. */
function at(text: string, ...path: (string | number)[]): Node {
  let node = parseTree(text).root;
  for (const step of path) {
    if (node?.kind === 'map') {
      node = node.entries.find(({ key }) => key === step)?.value ?? null;
    } else {
      node = node?.kind === 'list' ? (node.items[Number(step)] ?? null) : null;
    }
  }
  if (!node) {
    throw new Error(`nothing at ${path.join('.')}`);
  }
  return node;
}

describe('values', () => {
  test.each([
    ['1', 1],
    ['-1', -1],
    ['0x1F', 31],
    ['0o17', 15],
    ['1.5', 1.5],
    ['1e3', 1000],
    ['.inf', Number.POSITIVE_INFINITY],
    ['true', true],
    ['FALSE', false],
    ['yes', 'yes'],
    ['~', null],
    ['null', null],
    ['', null],
    ['64MiB', '64MiB'],
    ["'1'", '1'],
    ['"a\\tb"', 'a\tb'],
    ["'it''s'", "it's"],
    ['[1, two, {three: 3}]', [1, 'two', [['three', 3]]]],
    [
      '{a: 1, b, c: }',
      [
        ['a', 1],
        ['b', null],
        ['c', null],
      ],
    ],
    ['|\n  two\n  lines', 'two\nlines\n'],
    ['"over\n  lines"', 'over lines'],
  ])('key: %s', (source, value) => {
    expect(read(`key: ${source}\n`)).toEqual([['key', value]]);
  });

  test('a key may stand twice, and is named as it is written', () => {
    expect(read('08: 1\n"a b": 2\n08: 3\n')).toEqual([
      ['08', 1],
      ['a b', 2],
      ['08', 3],
    ]);
  });

  test('a list may stand at the column of its key', () => {
    expect(read('a:\n- 1\n- b: 2\n  c: 3\nd:\n  - - 4\n')).toEqual([
      [
        'a',
        [
          1,
          [
            ['b', 2],
            ['c', 3],
          ],
        ],
      ],
      ['d', [[4]]],
    ]);
  });

  test.each(['', '\n\n', '# only a comment', '\ufeff', '---\n'])('a file without content: %j', (text) => {
    expect(parseTree(text)).toMatchObject({ problem: null });
    expect(read(text) ?? null).toBeNull();
  });
});

describe('places', () => {
  const text =
    '\ufeff# head\r\na:  1 # one\r\nmap:\r\n  "k": [x, \'y\']\r\n\r\n  # comment\r\n  empty:\r\n# tail\r\nlist:\r\n  - b: 2\r\n  -\r\n';

  test('a scalar with its quotes', () => {
    expect(shown(text, at(text, 'a').span)).toBe('1');
    expect(shown(text, at(text, 'map', 'k', 1).span)).toBe("'y'");
  });

  test('a flow collection with its brackets, a block collection from first to last value', () => {
    expect(shown(text, at(text, 'map', 'k').span)).toBe("[x, 'y']");
    expect(shown(text, at(text, 'map').span)).toBe('"k": [x, \'y\']\r\n\r\n  # comment\r\n  empty:');
    expect(shown(text, at(text, 'list', 0).span)).toBe('b: 2');
  });

  test('a value that is not written, where it would be typed', () => {
    expect(at(text, 'map', 'empty').span.start).toBe(text.indexOf('empty:') + 'empty:'.length);
    expect(at(text, 'list', 1).span.start).toBe(text.lastIndexOf('-') + 1);
    expect(at('layout: &a\n  - [1]\n  -\n', 'layout', 1).span.start).toBe('layout: &a\n  - [1]\n  -'.length);
  });

  test('the same in a file that only the full parser reads', () => {
    const tagged = text.replace('"k"', '!!str "k"');
    expect(shown(tagged, at(tagged, 'map', 'k').span)).toBe("[x, 'y']");
    expect(at(tagged, 'map', 'empty').span.start).toBe(tagged.indexOf('empty:') + 'empty:'.length);
  });
});

describe('aliases', () => {
  test('stand for what they name, in their own place', () => {
    const text = 'a: &one {tp: 2}\nb: *one\n';
    expect(read(text)).toEqual([
      ['a', [['tp', 2]]],
      ['b', [['tp', 2]]],
    ]);
    expect(shown(text, at(text, 'b').span)).toBe('*one');
  });

  test('inside what they name are refused', () => {
    const { problem } = parseTree('a: &one [*one]\n');
    expect(problem).toMatchObject({ kind: 'syntax' });
    expect(problem?.message).toContain('*one');
  });
});

describe('what is no layout', () => {
  test.each([
    ['a: [1', 5, /^A '\[' is not closed/],
    ['a: "x', 5, /quote/],
    ['a: b: c', 3, /^A key stands in the value of another/],
    ['a: 1\n b: 2', 3, /./],
    ['a: 1\n---\nb: 2\n', 5, /second document/],
    ['a: \0', 3, /U\+0000/],
    ['a: \ufffd', 3, /U\+FFFD/],
  ])('%j is a syntax problem where it begins', (text, start, message) => {
    const { problem } = parseTree(text);
    expect(problem).toMatchObject({ kind: 'syntax', span: { start } });
    expect(problem?.message).toMatch(message);
  });
});

describe('limits', () => {
  const keys = (length: number) => `${'key: 1\n'.repeat(Math.floor(length / 7) - 1)}`;
  const problemOf = (text: string) => parseTree(text).problem;

  test('length: plain YAML up to the limit, with the numbers beyond it', () => {
    expect(problemOf(keys(MAX_TEXT))).toBeNull();
    const text = 'x'.repeat(MAX_TEXT + 1);
    expect(problemOf(text)).toMatchObject({ kind: 'too-large', span: { start: 0 } });
    expect(problemOf(text)?.message).toContain((MAX_TEXT + 1).toLocaleString('en-US'));
    expect(problemOf(text)?.message).toContain(MAX_TEXT.toLocaleString('en-US'));
  });

  test('length: other YAML up to a lower one, with the line that is not plain', () => {
    const tagged = 'tagged: !!int 1\n';
    expect(problemOf(keys(MAX_FULL_YAML - tagged.length) + tagged)).toBeNull();
    const text = keys(MAX_FULL_YAML) + tagged + keys(70);
    const problem = problemOf(text);
    expect(problem).toMatchObject({ kind: 'too-large' });
    expect(problem && shown(text, problem.span)).toBe(tagged.trim());
    expect(problem?.message).toContain(MAX_FULL_YAML.toLocaleString('en-US'));
  });

  test('depth: the same for both parsers', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    for (const tag of ['', '!!seq ']) {
      expect(problemOf(`a: ${tag}${nested(MAX_DEPTH - 1)}`)).toBeNull();
      expect(problemOf(`a: ${tag}${nested(MAX_DEPTH)}`)).toMatchObject({ kind: 'too-large' });
    }
    const blocks = (depth: number) => Array.from({ length: depth }, (_, i) => `${' '.repeat(i)}a:\n`).join('');
    expect(problemOf(blocks(MAX_DEPTH))).toBeNull();
    expect(problemOf(blocks(MAX_DEPTH + 1))?.message).toContain('nests');
  });

  test.each(['[', '{', '- ', '{a: ', '[[1], '])('depth: %j nested until the parser has no stack left', (part) => {
    expect(problemOf(part.repeat(5_000))).toMatchObject({ kind: 'too-large' });
    expect(problemOf(part.repeat(5_000))?.message).toContain('nests');
  });

  test('depth: aliases in aliases', () => {
    const chain = Array.from({ length: MAX_DEPTH }, (_, i) => `a${i}: &a${i} [${i === 0 ? 1 : `*a${i - 1}`}]\n`);
    expect(problemOf(chain.slice(0, -1).join(''))).toBeNull();
    expect(problemOf(chain.join(''))?.message).toContain('nests');
  });

  test('values: what aliases stand for is counted', () => {
    const twice = ['a0: &a0 [1, 1, 1, 1, 1]\n', ...'abcdefg'].map((_, i) =>
      i === 0
        ? 'a0: &a0 [1, 1, 1, 1, 1]\n'
        : `a${i}: &a${i} [${Array(10)
            .fill(`*a${i - 1}`)
            .join(', ')}]\n`,
    );
    expect(problemOf(twice.slice(0, 3).join(''))).toBeNull();
    expect(problemOf(twice.join(''))).toMatchObject({ kind: 'too-large' });
    expect(problemOf(twice.join(''))?.message).toContain(MAX_NODES.toLocaleString('en-US'));
  });

  test('the way errors are made elsewhere is left alone', () => {
    const before = Error.stackTraceLimit;
    parseTree('a: [');
    expect(Error.stackTraceLimit).toBe(before);
  });
});
