import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import {
  jsonText,
  markdownCode,
  markdownText,
  safeJson,
  shellQuoted,
  shellWord,
  terminalLine,
  workbenchText,
  workflowData,
  workflowProperty,
  xmlText,
} from '.';

/** Every character of the Basic Multilingual Plane, lone surrogates too. */
const EVERY = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).join('');

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Cs}/u;

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

describe('Markdown', () => {
  test.each(ATTACKS)('makes nothing of %j', (text) => {
    const shown = markdownText(text);
    expect(shown).not.toMatch(CONTROL);
    // nothing that begins a link, an image, HTML, an entity or an automatic link is left as it was
    expect(shown.replaceAll(/\\./g, '').replaceAll(/&(amp|#\d+);/g, '')).not.toMatch(/[[\]<>`!*_&:@]/);
  });

  test('shows plain words as they are', () => {
    expect(markdownText('language')).toBe('language');
    expect(markdownText('a_b')).toBe('a\\_b');
  });

  test('has code with as many marks as it needs', () => {
    expect(markdownCode('tp')).toBe('`tp`');
    expect(markdownCode('a`` b')).toBe('``` a`` b ```');
    expect(markdownCode('a\n\n![x](y)')).toBe('`a\\n\\n![x](y)`');
    expect(markdownCode('')).toBe('');
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

describe.skipIf(process.platform === 'win32')('a word of a shell', () => {
  test.each([...ATTACKS, "it's", '', '-x', '*', '~', '\\', '!!'])('is read back by a real shell: %j', (text) => {
    for (const word of [shellQuoted(text), shellWord(text)]) {
      expect(execFileSync('/bin/sh', ['-c', `printf %s ${word}`]).toString()).toBe(text);
    }
  });

  test('holds no NUL', () => {
    expect(() => shellQuoted('a\0b')).toThrow(RangeError);
  });
});
