import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../test/harness/property';
import { parsePlain, plainLength } from './plain';
import { parseYaml } from './yaml';

/** The one promise of `parsePlain`: what it reads, it reads as the full parser does. */
function isReadTheSame(text: string): boolean {
  const plain = parsePlain(text);
  if (plain && !isDeepStrictEqual(plain, parseYaml(text))) {
    expect(plain, JSON.stringify(text)).toStrictEqual(parseYaml(text));
  }
  return plain !== null;
}

const WORDS = ['tp', 'world_size', 'a', 'k-1', '1', 'x y', 'module_0', '<<', '__proto__', 'ключ', 'y:z', 'a#b', '~'];
const VALUES = [
  ...'1 -1 +2 08 0 -0 1.5 1. .5 1e3 1E-2 -.5e+1'.split(' '),
  ...'1_000 64MiB 60s - -- -a + . 1-2 true True tRUE FALSE yes null Null ~ text tp-cp-ep-dp-pp a:b c#d'.split(' '),
  ...'x\\y 💥 \u2028 a\ufeffb é a&b a* a! a| a> a%@`'.split(' '),
  ...['two words', 'a "b"', "it's", '\u00a0x', 'a  b', '9'.repeat(30)],
];
const QUOTED = [
  ...['""', "''", '"a"', "'a'", '"a b"', "'it''s'", '"\\n\\t\\"\\\\\\/"', '"\\u00e9"', '"# no comment"'],
  ...["'a: b'", '"[1, 2]"', "'\\n'", "''''", '"1"', "'true'", '"	tab"', '"💥\ud83d"', '"\\ud83d\\udca5"', '" a "'],
];
const COMMENTS = ['# comment', '#', '#: - [x', '# "', '#\ttab', '# [ {', '#\r alone'];

type Choice = <T>(options: readonly T[]) => T;

/** Writes a file in some of the many styles that are plain, deciding everything by `choose`. */
class Writer {
  #text = '';

  constructor(
    readonly choose: Choice,
    readonly lineBreak: string,
  ) {}

  file(): string {
    this.#gap(0);
    const column = this.choose([0, 0, 0, 2]);
    this.#block(column, 0);
    const end = this.choose(['', this.lineBreak, `${this.lineBreak}# end`]);
    return (
      this.choose(['', '', '\ufeff'].slice(0, column === 0 && !/^[- ]/.test(this.#text) ? 3 : 1)) + this.#text + end
    );
  }

  /** A block collection whose first line is already indented. */
  #block(column: number, depth: number): void {
    const isList = this.choose([false, false, true]);
    const count = this.choose([1, 2, 3]);
    for (let i = 0; i < count; i++) {
      if (i > 0 || this.#atLineStart()) {
        this.#line(column, i > 0);
      }
      if (isList) {
        this.#item(column, depth);
      } else {
        this.#entry(column, depth);
      }
    }
  }

  #atLineStart(): boolean {
    return this.#text === '' || this.#text.endsWith('\n');
  }

  #entry(column: number, depth: number): void {
    this.#text += this.choose([...WORDS, ...QUOTED]) + this.choose([':', ':', ':', ' :', '  :']);
    const kind = this.choose(depth < 3 ? ['inline', 'inline', 'block', 'list', 'none'] : ['inline', 'none']);
    if (kind === 'inline') {
      this.#text += this.choose([' ', '  ']) + this.#inline(2);
    }
    this.#trailing();
    if (kind === 'block') {
      this.#text += this.lineBreak;
      this.#gap(column);
      this.#block(column + this.choose([1, 2, 4]), depth + 1);
    }
    if (kind === 'list') {
      const count = this.choose([1, 2]);
      for (let i = 0; i < count; i++) {
        this.#line(column, true);
        this.#item(column, depth + 1);
      }
    }
  }

  #item(column: number, depth: number): void {
    this.#text += '-';
    const kind = this.choose(depth < 3 ? ['inline', 'inline', 'compact', 'block', 'none'] : ['inline', 'none']);
    const space = this.choose([' ', '   ']);
    if (kind === 'inline') {
      this.#text += space + this.#inline(2);
    }
    if (kind === 'compact') {
      this.#text += space;
      this.#block(column + 1 + space.length, depth + 1);
      return;
    }
    this.#trailing();
    if (kind === 'block') {
      this.#text += this.lineBreak;
      this.#gap(column);
      this.#block(column + this.choose([1, 2, 4]), depth + 1);
    }
  }

  #inline(depth: number): string {
    const kind = this.choose(depth > 0 ? ['scalar', 'scalar', 'scalar', 'list', 'map'] : ['scalar']);
    if (kind === 'scalar') {
      return this.choose([...VALUES.filter((value) => value !== '-'), ...QUOTED]);
    }
    const items = Array.from({ length: this.choose([0, 1, 2, 3]) }, () =>
      kind === 'list' ? this.#flowValue(depth - 1) : this.#flowEntry(depth - 1),
    );
    const space = this.choose(['', ' ']);
    const body = items.join(this.choose([',', ', ', ' , '])) + (items.length > 0 ? this.choose(['', '', ',']) : '');
    return kind === 'list' ? `[${space}${body}${space}]` : `{${space}${body}${space}}`;
  }

  #flowValue(depth: number): string {
    const value = this.#inline(depth);
    return value.startsWith('-') && value.length === 1 ? '1' : value;
  }

  #flowEntry(depth: number): string {
    const key = this.choose([...WORDS, ...QUOTED]);
    return this.choose([
      `${key}: ${this.#flowValue(depth)}`,
      `${key}: ${this.#flowValue(depth)}`,
      key,
      `${key}:`,
      `${key} : 1`,
    ]);
  }

  #trailing(): void {
    this.#text += this.choose(['', '', '', ' ', ` ${this.choose(COMMENTS)}`]);
  }

  /** Begins a line at a column. */
  #line(column: number, next: boolean): void {
    if (next) {
      this.#text += this.lineBreak;
      this.#gap(column);
    }
    this.#text += ' '.repeat(column);
  }

  /** Blank lines and comments between lines with content. */
  #gap(column: number): void {
    for (let more = this.choose([false, false, false, true]); more; more = this.choose([false, true])) {
      const indent = ' '.repeat(this.choose([0, column, column + 3]));
      this.#text += indent + this.choose(['', ...COMMENTS]) + this.lineBreak;
    }
  }
}

/** A source of decisions, generated and shrunk as a run of bytes; once it is used up, the first option is always taken. */
const tape = fc.uint8Array({ maxLength: 200, size: 'max' }).map((bytes): Choice => {
  let at = 0;
  return (options) => {
    const option = options[(bytes[at++] ?? 0) % options.length];
    if (option === undefined) {
      throw new Error('there is nothing to choose from');
    }
    return option;
  };
});

const plainFile = tape.map((choose) => new Writer(choose, choose(['\n', '\n', '\r\n'])).file());

const EXAMPLES = readdirSync('examples').map((name) => readFileSync(`examples/${name}`, 'utf8'));

const FRAGMENTS = [
  ...['\n', '\r\n', '\r', '\t', ' ', '  ', '\n  ', '\n\n', ': ', ':', '- ', '-', '\n- ', '\n  - ', '? ', ', ', ','],
  ...'{ } [ ] {} [] {"a":1} " \' "" \'\' # &a *a | > @ ` --- ... \ufeff \0 \u2028 \ud83d \ufffd \\ \\" a:b'.split(' '),
  ...'~ null 0x1 0x1F 0o17 0x .inf -.INF +.Inf .nan .NaN -.nan'.split(' '),
  ...['{a: 1}', '[1, 2]', '[a: 1]', '[\n1]', '{a:\n 1}', ' #', ' # c', '\n# c\n', '&a ', '!!int ', '!x ', '|\n  x\n'],
  ...['>-\n', '%YAML 1.2\n', '---\n', '\n---\n', '\n...\n', '--- a', '<<: ', 'a: b', 'a: b: c', '\na: 1', '\n a: 1'],
  ...['\n  a: 1', '- a: 1', '- - 1', 'key:\n- 1\n', ': x'],
];

interface Edit {
  readonly at: number;
  readonly removed: number;
  readonly added: string;
}

const edits = fc.array(
  fc.record<Edit>({
    at: fc.nat(),
    removed: fc.constantFrom(0, 0, 0, 1, 2, 5),
    added: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('', ...FRAGMENTS) },
      { weight: 1, arbitrary: fc.string({ maxLength: 3 }) },
    ),
  }),
  { minLength: 1, maxLength: 4 },
);

function edited(text: string, { at, removed, added }: Edit): string {
  const start = at % (text.length + 1);
  return text.slice(0, start) + added + text.slice(start + removed);
}

describe('plain YAML is read as the full parser reads it', () => {
  test('files in every plain style are read, and the same', () => {
    fc.assert(
      fc.property(plainFile, (text) => {
        const isRead = isReadTheSame(text) || Boolean(parseYaml(text).problem);
        expect(isRead, `${JSON.stringify(text)} is plain, but is read to ${plainLength(text)} only`).toBe(true);
      }),
      runs(600),
    );
  });

  test('edits anywhere in them are read the same, or not at all', () => {
    let read = 0;
    let all = 0;
    fc.assert(
      fc.property(fc.oneof(plainFile, plainFile, fc.constantFrom(...EXAMPLES)), edits, (text, changes) => {
        all++;
        read += isReadTheSame(changes.reduce(edited, text)) ? 1 : 0;
      }),
      runs(600),
    );
    expect(read).toBeGreaterThan(all / 10);
    expect(read).toBeLessThan(all);
  });
});
