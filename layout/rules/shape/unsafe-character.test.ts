import { expect, test } from 'vitest';
import { check } from '../../check';
import { job, reports } from '../testing';
import { unsafeCharacter } from './unsafe-character';

test('unsafe-character', () => {
  const said = reports(unsafeCharacter, {
    'an escape sequence': job(8, 'tp: 2', 'name: "a\\e]52;c;eA==\\a"'),
    'the direction of text': job(8, 'tp: 2', 'name: "gpt\\u202e7b"'),
    'a line break that nobody sees': job(8, 'tp: 2', 'name: "a\\n::error::b"'),
    'invisible as it stands': job(8, 'tp: 2', `name: gpt\u00ad7b`),
    tags: job(8, 'tp: 2', 'name: "x\\U000E0041\\U000E0042"'),
    'a name of a module': 'layout: 1\nworld_size: 8\nmodules: {"a\\x9b": {tp: 2}}\n',
    'a name of a phase': job(8, 'tp: 2', 'phases: {"a\\u3164": {tp: 2}}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "an escape sequence: error at "\\"a\\\\e]52;c;eA==\\\\a\\"": This text holds U+001B, U+0007: "a\\x1b]52;c;eA==\\x07". Write it without characters that nobody sees.
      = suggestion: Change to "a]52;c;eA==": name: [-"a\\e]52;c;eA==\\a"-]{+"a]52;c;eA=="+}
    the direction of text: error at "\\"gpt\\\\u202e7b\\"": This text holds U+202E: "gpt\\u202e7b". Write it without characters that nobody sees.
      = suggestion: Change to "gpt7b": name: [-"gpt\\u202e7b"-]{+"gpt7b"+}
    a line break that nobody sees: error at "\\"a\\\\n::error::b\\"": This text holds U+000A: "a\\n::error::b". Write it without characters that nobody sees.
      = suggestion: Change to "a::error::b": name: [-"a\\n::error::b"-]{+"a::error::b"+}
    invisible as it stands: error at "gpt­7b": This text holds U+00AD: "gpt\\xad7b". Write it without characters that nobody sees.
    tags: error at "\\"x\\\\U000E0041\\\\U000E0042\\"": This text holds U+E0041, U+E0042: "x\\u{e0041}\\u{e0042}". Write it without characters that nobody sees.
      = suggestion: Change to "x": name: [-"x\\U000E0041\\U000E0042"-]{+"x"+}
    a name of a module: error[language-module] at "modules": One module must be called 'language'.
      = Megatron-LM: create_topology requires exactly one spec named 'language' (the language module), got 0
      = suggestion: Rename 'a\\x9b' to 'language': modules: {[-"a\\x9b"-]{+language+}: {tp: 2}}
      error at "\\"a\\\\x9b\\"": This text holds U+009B: "a\\x9b". Write it without characters that nobody sees.
      error[missing-key] at "\\"a\\\\x9b\\"": 'a\\x9b' needs num_ranks or dp, and one replica takes 2 ranks. Write num_ranks 8.
      = suggestion: Insert num_ranks: 8: modules: {"a\\x9b": {tp: 2{+, num_ranks: 8+}}}
    a name of a phase: error at "\\"a\\\\u3164\\"": This text holds U+3164: "a\\u3164". Write it without characters that nobody sees."
  `);
});

test.each([
  '\u0000',
  '\u0007',
  '\u001b',
  '\u007f',
  '\u0085',
  '\u009b',
  '\u00ad',
  '\u034f',
  '\u061c',
  '\u115f',
  '\u180e',
  '\u200b',
  '\u200d',
  '\u2028',
  '\u202e',
  '\u2066',
  '\u3164',
  '\ufe0f',
  '\ufeff',
  '\uffa0',
  '\u{e0041}',
  '\u{e0100}',
])('no text may hold %j', (character) => {
  const name = [...character].map((one) => `\\U${(one.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`).join('');
  const text = job(8, 'tp: 2', `name: "a${name}b"`);
  expect(check(text).diagnostics.map(({ code }) => code)).toContain('unsafe-character');
});

test.each([
  ['between Latin letters', 'a\u200db'],
  ['at the end of a word', 'می\u200c'],
  ['twice', 'می\u200c\u200cخواهم'],
  ['between an emoji and a letter', '👩\u200dx'],
  ['beside a joiner that belongs there', '👩\u200d💻\u202e'],
])('an invisible character is refused %s', (_, name) => {
  expect(check(job(8, 'tp: 2', `name: ${name}`)).diagnostics.map(({ code }) => code)).toContain('unsafe-character');
});

test.each([
  ['a description of several lines', 'description: |\n  one\n  two\n'],
  ['letters of any script', 'name: モデル-é-дом-עברית-🙂'],
  ['a word of Persian', 'name: می\u200cخواهم'],
  ['a conjunct of Hindi', 'name: क्\u200dष'],
  ['emoji that are joined', 'name: 👩🏽\u200d💻-❤\ufe0f\u200d🔥'],
])('%s is no mistake', (_, line) => {
  expect(check(job(8, 'tp: 2', line)).diagnostics.map(({ code }) => code)).not.toContain('unsafe-character');
});
