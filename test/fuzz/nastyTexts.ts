import { MAX_FULL_YAML, MAX_TEXT } from '../../layout/format/limits';

/*
 * Texts made to be slow, or to break the checker: cases of `features.test.ts`, and of `bench/check.mjs`.
 */

/** What the text is, and the text. */
export type Nasty = readonly [name: string, text: string];

/** Most texts come close to what the full parser, or the plain scanner, is asked to read. */
const FULL = MAX_FULL_YAML - 64;
const PLAIN = MAX_TEXT - 64;

/** `part` over and over, up to `length`. */
const repeated = (part: string, length = FULL): string => part.repeat(Math.floor(length / part.length));

/** The parts for 0, 1, 2 ... up to `length`. */
function parts(part: (i: number) => string, length = PLAIN): string {
  let text = '';
  for (let i = 0; text.length + part(i).length <= length; i++) {
    text += part(i);
  }
  return text;
}

/** As many modules, each written by `part`, as fit. */
function modules(world: number, part: (i: number) => string): string {
  return `layout: 1\nworld_size: ${world}\nmodules:\n${parts((i) => `  ${i === 0 ? 'language' : `m${i}`}: ${part(i)}\n`, PLAIN - 64)}`;
}

/** `part` over and over between two texts, up to `length`. */
const around = (before: string, part: string, after: string, length = PLAIN): string =>
  before + repeated(part, length - before.length - after.length) + after;

export function nastyTexts(): Nasty[] {
  return [...broken(), ...deep(), ...aliases(), ...long(), ...wrong(), ...crowded(), ...numbers(), ...odd()];
}

/** An error a character, for the full parser. */
const broken = (): Nasty[] =>
  [
    '}',
    ']\n',
    'a: ]\n',
    ',',
    '[,',
    '* ',
    '! ',
    '& ',
    '&a ',
    '"',
    "'",
    '"a"\n',
    '"\\q',
    '%a\n',
    '@',
    '\t',
    'a:\n\t',
    '? a\n',
    ': ',
    '- a: b: c\n',
    'x: [1,\n',
    '---\n',
    '...\n',
    '|\n',
    'a: >\n',
    'a b\n',
    '!!x ',
  ].map((part): Nasty => [`${JSON.stringify(part)} repeated`, repeated(part)]);

const deep = (): Nasty[] => [
  ...['[', '{', '- ', '? ', '{a: ', '[a: ', '[\n'].map(
    (part): Nasty => [`${JSON.stringify(part)} nested`, repeated(part)],
  ),
  ['[[[ closed ]]]', repeated('[', FULL / 2) + repeated(']', FULL / 2)],
  ['100,000 [', '['.repeat(100_000)],
  ['maps in maps', parts((i) => `${' '.repeat(i)}a:\n`, FULL)],
  ['lists in lists', parts((i) => `${' '.repeat(i)}-\n`, FULL)],
  [
    '30 maps deep, over and over',
    repeated(
      parts((i) => `${' '.repeat(i)}a:\n`, 500),
      PLAIN,
    ),
  ],
];

const aliases = (): Nasty[] => [
  ['anchors', parts((i) => `k${i}: &a${i} 1\n`, FULL)],
  ['aliases of one anchor', around('a: &a 1\nb: [', '*a, ', ']', FULL)],
  ['a chain of aliases', `a0: &a0 1\n${parts((i) => `a${i + 1}: &a${i + 1} [*a${i}]\n`, FULL - 16)}`],
  ['a billion laughs', laughs('[', ']')],
  ['a billion laughs of maps', laughs('{a: [', ']}')],
  [
    'laughs in non_active_ranks_per_dp',
    `r: &r [${repeated('0, ', 3000)}]\ne: &e {dp: 0, local_ranks: *r}\nntp:\n  non_active_ranks_per_dp: [${repeated('*e, ', 4000)}]\n`,
  ],
  [
    'one module by a thousand names',
    `m: &m {num_ranks: 8, tp: 2}\nmodules:\n${parts((i) => `  m${i}: *m\n`, FULL - 64)}`,
  ],
  ['an alias of itself', 'layout: &a [*a]\n'],
];

/** Each line stands for nine times the one before. */
function laughs(open: string, close: string): string {
  const names = [...'abcdefghij'];
  const lines = names.map((name, i) => {
    const before = i === 0 ? 'ha' : `*${names[i - 1]}`;
    const items = Array<string>(9).fill(before).join(', ');
    return `${name}: &${name} ${open}${items}${close}\n`;
  });
  return `layout: 1\n${lines.join('')}`;
}

const long = (): Nasty[] => [
  ['one line of 500 KB', `name: ${'x'.repeat(500_000)}`],
  ['5 MB', 'a: 1\n'.repeat(1_000_000)],
  ['one long text', around('layout: 1\nname: ', 'x', '\n')],
  ['one long quoted text', around('layout: 1\nname: "', '\\n', '"\n')],
  ['a number of 100,000 digits', `layout: 1\nworld_size: ${'9'.repeat(100_000)}\nparallelism: {tp: 2}\n`],
  ['a long order', around('layout: 1\nworld_size: 8\nparallelism:\n  order: ', 'tp-', 'pp\n')],
  ['a long option', around('layout: 1\nntp:\n  placement: ', 'n', '\n')],
  ['a long size', around('layout: 1\nsmoke:\n  payload: "', '1', 'MiB"\n')],
  ['a size with spaces', around('layout: 1\nsmoke:\n  payload: "1', ' ', 'x"\n')],
  ['a quoted number with spaces', around('layout: 1\nworld_size: "1', ' ', 'x"\n')],
  ['spaces before a comma', around('{layout: 1', ' ', ', x: 1}\n')],
  ['spaces in a broken map', around('layout: {x: 1, y: 1', ' ', 'z}\n')],
  ['spaces behind an unknown key', around('{layout: 1, x: 1', ' ', '}\n', FULL)],
  ['spaces behind an unknown key of a module', around('modules: {m: {layout: 1, x: 1', ' ', '}}\n')],
  [
    'a long first line',
    `name: ${repeated('x', 200_000)}\nntp:\n  non_active_ranks_per_dp:\n${repeated('  - dp: 1\n', 20_000)}`,
  ],
  ['spaces at line ends', repeated(`${' '.repeat(1000)}\n`, PLAIN)],
  ['blank lines', repeated('\n', PLAIN)],
  ['comments', repeated('#\n', PLAIN)],
  ['carriage returns', repeated('\r')],
  ['one list of numbers', around('layout: 1\nntp: {failed_ranks: [', '1, ', ']}\n')],
  [
    'a list of replicas',
    `layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nntp:\n  non_active_ranks_per_dp:\n${parts((i) => `  - {dp: ${i}, local_ranks: [1]}\n`, PLAIN - 128)}`,
  ],
];

const wrong = (): Nasty[] => [
  ['duplicate keys', repeated('tp: 1\n', PLAIN)],
  ['duplicate keys on one line', around('layout: {', 'tp: 1, ', '}\n')],
  ['unknown keys', parts((i) => `k${i}: 1\n`)],
  ['misspelt keys', parts((i) => `module${i}: 1\n`)],
  [
    'unknown keys under a name as long as a file',
    `modules: {${'m'.repeat(200_000)}: {model: {${parts((i) => `k${i}: x, `, 100_000)}}}}\n`,
  ],
  ['texts for numbers', around('layout: 1\nntp: {failed_ranks: [', 'a, ', ']}\n')],
  ['misspelt options', around('layout: 1\nsmoke: {checks: [', 'groupz, ', ']}\n')],
  [
    'an error in each of 10,000 lines',
    `layout: 1\nmodules:\n${Array.from({ length: 1430 }, (_, i) => `  m${i}:\n    rank_offset: x\n    num_ranks: "8"\n    tp: two\n    cp: -1\n    pp: 1.5\n    ep: []\n`).join('')}`,
  ],
  ['a mistake in a long file', `${parts((i) => `k${i}: 1\n`, PLAIN - 64)}name: "x\n`],
];

const crowded = (): Nasty[] => [
  ['modules without keys', modules(8, () => '{}')],
  ['modules side by side', modules(8 * 20_000, (i) => `{num_ranks: 8, rank_offset: ${i * 8}}`)],
  ['modules on the same ranks', modules(8, () => '{num_ranks: 8}')],
  ['modules that overlap', modules(100_000, (i) => `{num_ranks: 8, rank_offset: ${i * 4}}`)],
  ['modules beyond the world', modules(8, (i) => `{num_ranks: 8, rank_offset: ${i * 8}}`)],
  ['modules with gaps', modules(1_000_000, (i) => `{num_ranks: 8, rank_offset: ${i * 16}}`)],
  ['modules in pairs', modules(1_000_000, (i) => `{num_ranks: 8, rank_offset: ${(i >> 1) * 8}}`)],
  ['modules that do not divide', modules(100_000, (i) => `{num_ranks: 8, rank_offset: ${i * 8}, tp: 3}`)],
  ['modules of a large prime', modules(2 ** 31 - 1, () => `{num_ranks: ${2 ** 31 - 1}, tp: 2147483646}`)],
  ['modules with tp: 0', modules(100_000, (i) => `{num_ranks: 8, rank_offset: ${i * 8}, tp: 0}`)],
  ['modules with a wrong dp', modules(100_000, (i) => `{num_ranks: 8, rank_offset: ${i * 8}, dp: 3}`)],
  [
    'modules with models',
    modules(
      100_000,
      (i) =>
        `{num_ranks: 8, rank_offset: ${i * 8}, tp: 2, model: {num_layers: 3, num_attention_heads: 5}, sequence: {seq_length: 7, sequence_parallel: true}}`,
    ),
  ],
];

/** A file of nonuniform TP over `ranks` ranks. */
const ntp = (degrees: string, ranks: number, settings: string): string =>
  `layout: 1\nworld_size: ${ranks}\nparallelism: {${degrees}}\nntp:\n${settings}`;

/** The same in a world of 16,384 replicas of tp 1,024, with a map of as many entries as fit, each for a replica of its own. */
function mapped(spares: number, entry: (i: number) => string): string {
  const entries = parts((i) => `  - ${entry(i)}\n`, PLAIN - 256);
  const count = entries.split('\n').length - 1;
  const settings = `  tp_spares: ${spares}\n  num_reduced_tp_dp_ranks: ${count}\n  non_active_ranks_per_dp:\n${entries}`;
  return ntp('tp: 1024', 2 ** 24, settings);
}

/** A file of nonuniform TP with a list as long as a file allows. */
const failed = (degrees: string, ranks: number, rank: (i: number) => number): string =>
  ntp(degrees, ranks, `  failed_ranks: [${parts((i) => `${rank(i)}, `, PLAIN - 256)}]\n`);

/** As many modules as fit on all of a world of which no node has a factor in common with the degrees. */
function coprime(gpus: number, nodes: number): string {
  const cluster = `cluster: {nodes: ${nodes}, gpus_per_node: ${gpus}}`;
  return modules(gpus * nodes, () => `{num_ranks: ${gpus * nodes}, tp: 8, ep: 8}`).replace(
    'modules:',
    `${cluster}\nmodules:`,
  );
}

/** Few words and huge numbers, or long lists of them. */
const numbers = (): Nasty[] => [
  ['a billion spares', ntp('tp: 1073741824', 2 ** 30, '  tp_spares: 1073741823\n')],
  ['spares of a million replicas', ntp('tp: 1024', 2 ** 30, '  tp_spares: 1023\n  num_reduced_tp_dp_ranks: 1048576\n')],
  ['failed ranks, the same', failed('tp: 1024', 2 ** 31, () => 0)],
  ['failed ranks, one a replica', failed('tp: 1024', 2 ** 31, (i) => i * 1024)],
  ['failed ranks of one huge replica', failed('tp: 1073741824', 2 ** 31, (i) => i)],
  ['entries of one slot', mapped(1, (i) => `{dp: ${i}, local_ranks: [${i % 1023}]}`)],
  ['entries of two slots', mapped(2, (i) => `{dp: ${i}, local_ranks: [${i % 999}, ${1000 + (i % 23)}]}`)],
  ['entries of the last slot', mapped(1, (i) => `{dp: ${i}, local_ranks: [1023]}`)],
  ['entries that lack slots', mapped(1000, (i) => `{dp: ${i}, local_ranks: [1]}`)],
  ['one entry of many slots', mapped(1, () => `{dp: 0, local_ranks: [${repeated('5, ', 200_000)}]}`)],
  [
    'entries of slices of one replica',
    ntp(
      'tp: 1024, cp: 1048576',
      2 ** 30,
      `  tp_spares: 1\n  non_active_ranks_per_dp:\n${parts((i) => `  - {dp: 0, cp: ${i}, local_ranks: [1023]}\n`, PLAIN - 256)}`,
    ),
  ],
  [
    'packed placement on a billion ranks',
    `${ntp('tp: 8, cp: 1024', 2 ** 30 - 1024, '  tp_spares: 1\n  placement: packed\n  non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]\n')}communicators: {high_priority_stream_groups: [tp]}\n`,
  ],
  [
    'levels of context parallelism',
    `${around('layout: 1\nworld_size: 8\nparallelism: {cp: 8, hierarchical_context_parallel_sizes: [8, ', '1, ', '1]}\n', PLAIN - 64)}communicators: {high_priority_stream_groups: [hcp]}\n`,
  ],
  [
    'groups that are not made',
    around(
      'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\ncommunicators: {high_priority_stream_groups: [',
      'hcp, ',
      ']}\n',
    ),
  ],
  [
    'degrees in the name',
    modules(10_000, () => '{num_ranks: 8, tp: 2}')
      .replace('modules:', `name: ${parts((i) => `tp${i + 3}-`, 9000)}\nmodules:`)
      .slice(0, PLAIN),
  ],
  ['nodes of 4,095', coprime(4095, 8)],
  ['nodes of 46,341', coprime(46_341, 40_000)],
];

const odd = (): Nasty[] => [
  ['nothing', ''],
  ['NUL', 'layout: 1\0\n'],
  ['NUL only', '\0'.repeat(10_000)],
  ['U+FFFD', 'layout: 1\nname: \ufffd\n'],
  ['lone surrogates', around('layout: 1\nname: ', '\ud83d ', '\n')],
  ['U+2028 and U+0085', around('layout: 1\nname: ', '\u2028\u0085', '\n')],
  ['byte order marks', repeated('\ufeff')],
  ['a second document', 'layout: 1\n---\nlayout: 1\n'],
  ['__proto__', 'layout: 1\n__proto__: {tp: 1}\nconstructor: 1\nmodules: {__proto__: {num_ranks: 8}, toString: {}}\n'],
];
