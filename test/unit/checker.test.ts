import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Checked, Checker, check } from '../../layout';

/** Cases a property; the environment can ask for more. */
const RUNS = Number(process.env.CHECKER_RUNS ?? 1000);

const EXAMPLES = readdirSync('examples')
  .filter((name) => name.endsWith('.layout.yaml'))
  .map((name) => readFileSync(`examples/${name}`, 'utf8'));

const key = fc.constantFrom('tp', 'pp', 'cp', 'ep', 'dp', 'num_ranks', 'rank_offset', 'expt_tp', 'gtp_remat', 'tpp');
const value = fc.constantFrom('1', '2', '3', '4', '8', '16', '0', '-1', 'x', '', '2 # two', '"2"', '[1, 2]');
const line = fc.tuple(key, value).map(([name, written]) => `    ${name}: ${written}\n`);
const model = fc.constantFrom(
  '',
  '    model:\n      num_layers: 7\n      num_attention_heads: 6\n',
  '    # nothing\n\n',
);
const name = fc.constantFrom('language', 'images', 'vision', 'audio', 'm1', 'a name that is longer than others');
const module = fc
  .tuple(name, fc.nat(5), fc.array(line, { maxLength: 4 }), model)
  .map(
    ([one, place, lines, rest]) =>
      `  ${one}:\n    rank_offset: ${place * 8}\n    num_ranks: 8\n${lines.join('')}${rest}`,
  );
const tail = fc.constantFrom(
  '',
  'batch: {micro_batch_size: 1, global_batch_size: 24}\n',
  '# the end\n',
  'cluster:\n  nodes: 6\n  gpus_per_node: 8\n',
  'smoke:\n  checks:\n  - groups\n',
);
const heterogeneous = fc
  .tuple(tail, fc.array(module, { minLength: 1, maxLength: 8 }), tail)
  .map(
    ([before, modules, after]) =>
      `layout: 1\nworld_size: 48\n${before}modules:\n  # one grid each\n${modules.join('')}${after}`,
  );
const file = fc.oneof(
  { weight: 4, arbitrary: heterogeneous },
  { weight: 1, arbitrary: heterogeneous.map((text) => text.replaceAll('\n', '\r\n')) },
  { weight: 1, arbitrary: heterogeneous.map((text) => `\ufeff${text}`) },
  { weight: 1, arbitrary: heterogeneous.map((text) => text.replace(/^/gm, '  ')) },
  { weight: 2, arbitrary: fc.constantFrom(...EXAMPLES) },
);

const SCRAPS = [
  ...[
    '1',
    '2',
    '16',
    ' ',
    '  ',
    ':',
    ': ',
    '#',
    ' #',
    '- ',
    '-',
    '\n',
    '\n\n',
    '\r\n',
    '\r',
    '\t',
    '"',
    "'",
    ',',
    '{}',
    '{',
    ']',
  ],
  ...[
    'tp: 2\n',
    '    tp: 2\n',
    '  m2:\n    num_ranks: 8\n',
    'ntp: {tp_spares: 1}\n',
    'modules:\n',
    'parallelism:\n  tp: 2\n',
  ],
  ...[
    '&a ',
    '*a',
    '---\n',
    '...\n',
    '%x\n',
    '|\n',
    '? ',
    '!!int ',
    '\ufeff',
    '\u0000',
    '\ufffd',
    '\ud83d',
    'é',
    '<<: *a',
  ],
  ...['# a remark\n', '  # a remark\n', '    # a remark\n', 'world_size: 64\n', 'name: x-tp4\n'],
];

interface Edit {
  readonly at: number;
  readonly removed: number;
  readonly added: string;
  /** Whether whole lines are meant: the edit begins at the start of one, and removes up to another. */
  readonly lines: boolean;
  /** Whether the edit is undone right away. */
  readonly undone: boolean;
}

const edit = fc.record<Edit>({
  at: fc.nat(),
  removed: fc.constantFrom(0, 0, 0, 1, 1, 2, 5, 40),
  added: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('', ...SCRAPS) },
    { weight: 1, arbitrary: fc.string({ maxLength: 3 }) },
  ),
  lines: fc.boolean(),
  undone: fc.boolean(),
});

function edited(text: string, { at, removed, added, lines }: Edit): string {
  const place = at % (text.length + 1);
  const start = lines ? text.lastIndexOf('\n', place - 1) + 1 : place;
  const end = lines && removed > 0 ? text.indexOf('\n', Math.min(text.length, start + removed)) + 1 : start + removed;
  return text.slice(0, start) + added + text.slice(Math.max(start, end));
}

/** Everything that is known of a file, as plain data. */
function data({ text, lines, read, facts, findings, resolved }: Checked) {
  const positions = Array.from({ length: Math.min(text.length, 400) + 2 }, (_, i) => lines.positionAt(i * 7));
  return { text, positions, count: lines.count, read, facts, findings, resolved };
}

function expectSame(checker: Checker, text: string): void {
  const now = data(checker.check(text));
  const anew = data(check(text));
  if (!isDeepStrictEqual(now, anew)) {
    expect(now, JSON.stringify(text)).toStrictEqual(anew);
  }
}

describe('a file that is checked while it is edited', () => {
  test('is known as if it were checked anew', () => {
    fc.assert(
      fc.property(file, fc.array(edit, { minLength: 1, maxLength: 12 }), (start, edits) => {
        const checker = new Checker();
        let text = start;
        expectSame(checker, text);
        for (const change of edits) {
          const next = edited(text, change);
          expectSame(checker, next);
          if (change.undone) {
            expectSame(checker, text);
          } else {
            text = next;
          }
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('keeps what it knows of the modules in which nothing was edited', () => {
    const text = `layout: 1\nworld_size: 24\nmodules:\n${[0, 8, 16].map((at, i) => `  ${i === 0 ? 'language' : `m${i}`}:\n    rank_offset: ${at}\n    num_ranks: 8\n    tp: 2\n`).join('')}name: bench\n`;
    const checker = new Checker();
    const before = checker.check(text).facts?.modules ?? [];
    const after = checker.check(text.replace('rank_offset: 8\n', 'rank_offset: 8\n    cp: 2\n')).facts?.modules ?? [];
    expect(after.map((one, i) => one === before[i])).toEqual([true, false, true]);
  });
});
