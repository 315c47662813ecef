import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  code,
  csvCell,
  jsonText,
  markdownText,
  posixQuoted,
  pythonText,
  safeJson,
  shellQuoted,
  shellWord,
  terminalLine,
  workbenchText,
  workflowData,
  workflowProperty,
  xmlText,
  yamlText,
} from '.';

/** Every character of the Basic Multilingual Plane, lone surrogates too. */
const EVERY = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).join('');

const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
  /[\u0000-\u001f\u007f-\u009f\u00ad\u115f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\u{e0000}-\u{e0fff}]|[\ufe00-\ufe0f]|\p{Cs}/u;

/** What a file may call a module. */
const ATTACKS = [
  '\u001b]52;c;cHduZWQ=\u0007',
  '\u001b]8;;https://example.com\u0007click\u001b]8;;\u0007',
  '\u009b31m',
  'x\n::error file=a::forged',
  '[run](command:workbench.action.terminal.new)',
  '![x](https://example.com/x.png)',
  '<img src=https://example.com/x.png>',
  '</title><script>alert(1)</script>',
  '$(trash) `id` $(id)',
  '\u202egpj.exe',
];

describe('text for a terminal', () => {
  test('holds no control character, whatever it is made of', () => {
    expect(terminalLine(EVERY)).not.toMatch(CONTROL);
    expect(terminalLine('a\u001b[2J\n\u202e\t')).toBe('a\\x1b[2J\\n\\u202e\\t');
    expect(terminalLine('モデル é 🙂')).toBe('モデル é 🙂');
  });

  test.each([
    ['::error ::x', ': :error ::x'],
    ['  ::set-output name=x::y', '  : :set-output name=x::y'],
    ['a ##[error]x', 'a # #[error]x'],
    ['##vso[task.setvariable]x', '# #vso[task.setvariable]x'],
    ['a::b', 'a::b'],
  ])('is no command of CI: %j', (text, shown) => {
    expect(terminalLine(text)).toBe(shown);
  });
});

describe('JSON', () => {
  test.each([...ATTACKS, '##[error]', EVERY])('is the same value, without what a terminal obeys', (text) => {
    expect(JSON.parse(jsonText({ text }, 2))).toEqual({ text });
    expect(jsonText(text)).not.toMatch(CONTROL);
    expect(jsonText(text)).not.toContain('##[');
    expect(safeJson(JSON.stringify({ text }))).toBe(jsonText({ text }));
  });
});

test('YAML 1.1, which kubectl and PyYAML read, has the same texts', () => {
  const texts = [
    'yes',
    'No',
    'on',
    'OFF',
    'y',
    'n',
    '1_000',
    '010',
    '0o17',
    '1:30',
    '0b1',
    '.inf',
    '~',
    '2001-01-01',
    '<<',
    '=',
    'null',
    '1e5',
    'a',
  ];
  const data = { list: texts, ...Object.fromEntries(texts.map((text) => [`key of ${text}`, text])) };
  expect(parse(yamlText(data), { version: '1.1', merge: true })).toEqual(data);
});

describe('YAML, Python and CSV', () => {
  test.each([...ATTACKS, ...MORE, EVERY.replaceAll(/\p{Cs}/gu, '')])(
    'hold %# as a value, and command nothing',
    (text) => {
      const data = { key: text, list: ['x', text], [text.slice(0, 500)]: 1 };
      for (const yaml of [yamlText(data), yamlText(data, { flow: true })]) {
        expect(parse(yaml)).toEqual(data);
        expect(yaml.replaceAll('\n', '')).not.toMatch(CONTROL);
        expect(yaml).not.toMatch(/^\s*::|##(?:vso)?\[/im);
      }
      for (const shown of [pythonText(text), csvCell(text)]) {
        expect(shown).not.toMatch(CONTROL);
        expect(shown).not.toMatch(/^\s*::|##(?:vso)?\[/i);
      }
      expect(csvCell(text)).not.toMatch(/^"?[=+\-@]/);
    },
  );

  test('Python reads back what was written for it', () => {
    const texts = [...ATTACKS, ...MORE, EVERY.replaceAll(/\p{Cs}/gu, '')];
    const input = `import json\nprint(json.dumps([${texts.map(pythonText).join(', ')}]))\n`;
    expect(JSON.parse(execFileSync('python3', ['-'], { input }).toString())).toEqual(texts);
  });
});

describe('Markdown', () => {
  test.each(ATTACKS)('makes nothing of %j', (text) => {
    const shown = markdownText(text);
    expect(shown).not.toMatch(CONTROL);
    // nothing that begins a link, an image, HTML, an entity or an automatic link is left as it was
    expect(shown.replaceAll(/\\./g, '').replaceAll(/&(amp|#\d+);/g, '')).not.toMatch(/[[\]<>`!*_&:@]/);
  });

  test('shows plain words as they are', () => {
    expect(markdownText('language')).toBe('language');
    expect(markdownText('a_b _c_')).toBe('a_b \\_c\\_');
  });

  test('has code with as many marks as it needs', () => {
    expect(code('tp').source).toBe('`tp`');
    expect(code('a`` b').source).toBe('``` a`` b ```');
    expect(code('a\n\n![x](y)').source).toBe('`a\\n\\n![x](y)`');
    expect(code('').source).toBe('');
  });
});

describe('text for the workbench', () => {
  test.each(ATTACKS)('is neither link nor icon: %j', (text) => {
    // as VS Code's linkedText reads links, and iconLabels icons
    expect(workbenchText(text)).not.toMatch(/\[[^\]]+\]\((?:https?:\/\/|command:|file:)[^)\s]+/i);
    expect(workbenchText(text)).not.toMatch(/\$\([\w-]+\)/);
    expect(workbenchText(text).replaceAll('\n', '')).not.toMatch(CONTROL);
  });
});

describe('a workflow command', () => {
  test('has its text and its properties on one line', () => {
    expect(workflowData('50%\r\n::error::x')).toBe('50%25%0A::error::x');
    expect(workflowProperty('a,b:c\n')).toBe('a%2Cb%3Ac%0A');
  });

  test.each([...ATTACKS, '##[error]', EVERY])('holds nothing that a terminal or another log obeys: %#', (text) => {
    for (const escaped of [workflowData(text), workflowProperty(text)]) {
      expect(escaped).not.toMatch(CONTROL);
      expect(escaped).not.toContain('##[');
    }
  });
});

describe('XML', () => {
  test.each([...ATTACKS, '##[error]'])('has %j as text', (text) => {
    expect(xmlText(text)).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#35|#39);)|##\[/);
  });
});

/** Texts of other kinds: quotes, options, globs, and what nobody sees. */
const MORE = [
  "it's",
  '',
  '-x',
  '*',
  '~',
  '\\',
  '!!',
  "\u00ad\\x41'",
  'a\u{e0041}b',
  '::error::x',
  '##vso[x]y',
  'モデル\u3164\ufe0f',
];

/** What bash and other shells of a machine make of words. */
const readBack = (shell: string, words: readonly string[]) =>
  execFileSync(shell, ['-c', `printf '%s\\0' ${words.join(' ')}`])
    .toString()
    .split('\0')
    .slice(0, -1);

describe.skipIf(process.platform === 'win32')('a word of a shell', () => {
  const texts = [...ATTACKS, ...MORE];

  test('is read back', () => {
    expect(readBack('/bin/sh', texts.map(posixQuoted))).toEqual(texts);
    expect(readBack('bash', texts.map(shellQuoted))).toEqual(texts);
    expect(readBack('bash', texts.map(shellWord))).toEqual(texts);
  });

  test.each(texts)('commands nothing that shows it: %j', (text) => {
    for (const word of [shellQuoted(text), shellWord(text)]) {
      expect(word).not.toMatch(CONTROL);
      expect(word).not.toMatch(/^\s*::|##(?:vso)?\[/i);
    }
  });

  test('holds no NUL', () => {
    expect(() => shellQuoted('a\0b')).toThrow(RangeError);
  });
});

test('text of a picture has characters of XML alone, whatever it is made of', () => {
  const ends = Array.from({ length: 17 }, (_, plane) => String.fromCodePoint(plane * 0x10000 + 0xfffe));
  expect(xmlText(EVERY + ends.join(''))).toMatch(/^[\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10fffd}]*$/u);
});
