import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Range } from 'vscode-languageserver-protocol';
import { applyEdits, type Checked, check } from '../../layout';
import { MAX_DIAGNOSTICS } from '../../layout/format/limits';
import { codeActions } from '../../server/features/codeActions';
import { codeLenses } from '../../server/features/codeLens';
import { completion } from '../../server/features/completion';
import { documentLinks } from '../../server/features/documentLinks';
import { documentSymbols } from '../../server/features/documentSymbols';
import { foldingRanges } from '../../server/features/folding';
import { formatting } from '../../server/features/formatting';
import { hover } from '../../server/features/hover';
import { inlayHints } from '../../server/features/inlayHints';
import { renameRange } from '../../server/features/rename';
import { selectionRanges } from '../../server/features/selectionRanges';
import { runs } from '../harness/property';
import { expectShowable } from './expectShowable';
import { nastyTexts } from './nastyTexts';

const URI = 'file:///a.layout.yaml';

/** Asks every feature at an offset of a checked text; what it answers must lie in the text. */
function ask(checked: Checked, offset: number): void {
  const { text, lines } = checked;
  const position = lines.positionAt(offset);
  const end = lines.positionAt(text.length);
  const whole = { start: { line: 0, character: 0 }, end };
  // an assertion for each of a hundred thousand ranges would take minutes
  const wrong: unknown[] = [];
  const inText = (range: Range | undefined) => {
    if (range) {
      const isOrdered = lines.offsetAt(range.start) <= lines.offsetAt(range.end);
      if (!isOrdered || range.end.line >= lines.count) {
        wrong.push(range);
      }
    }
  };
  inText(hover(checked, offset)?.range);
  for (const { textEdit } of completion(checked, position)) {
    inText(textEdit && 'range' in textEdit ? textEdit.range : undefined);
  }
  for (const fold of foldingRanges(checked)) {
    if (fold.startLine >= fold.endLine || fold.endLine >= lines.count) {
      wrong.push(fold);
    }
  }
  for (const symbol of documentSymbols(checked)) {
    inText(symbol.range);
    inText(symbol.selectionRange);
    if (symbol.name === '') {
      wrong.push(symbol);
    }
  }
  for (let range = selectionRanges(checked, [position])[0]; range; range = range.parent) {
    inText(range.range);
  }
  inText(renameRange(checked, offset) ?? undefined);
  const shown = [...documentLinks(checked), ...codeLenses(URI, checked, { showGrid: 'grid' })];
  shown.map(({ range }) => inText(range));
  inlayHints(checked, whole).map(({ position: start }) => inText({ start, end: start }));
  codeActions(URI, checked, { start: position, end: position });
  const formatted = applyEdits(
    text,
    formatting(checked).map(({ range, newText }) => {
      inText(range);
      return { span: { start: lines.offsetAt(range.start), end: lines.offsetAt(range.end) }, newText };
    }),
  );
  expect(wrong).toEqual([]);
  expect(formatted.replaceAll(/\s/g, '') === text.replaceAll(/\s/g, '')).toBe(true);
}

describe('whatever a file holds, it is checked and every feature answers', () => {
  test.each(nastyTexts())('%s', (_, text) => {
    const checked = check(text);
    const diagnostics = expectShowable(checked);
    for (const severity of ['error', 'warning', 'information']) {
      expect(diagnostics.filter((diagnostic) => diagnostic.severity === severity).length).toBeLessThanOrEqual(
        MAX_DIAGNOSTICS + 1,
      );
    }
    ask(checked, text.length >> 1);
  });

  const seeds = readdirSync('examples')
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => readFileSync(`examples/${name}`, 'utf8'));
  const scrap = fc.constantFrom(
    ...['{', '}', '[', ':', ': ', '- ', '#', '"', '\n', '\n  ', '\t', '&a', '*a', '|', '0', '\u{1f600}', '\r'],
  );

  test('edits of the examples, at any place', () => {
    const edits = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(6), scrap), { maxLength: 4 });
    const places = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.constantFrom(...seeds), edits, places, (seed, changes, place) => {
        let text = seed;
        for (const [share, removed, added] of changes) {
          const at = Math.floor(share * text.length);
          text = text.slice(0, at) + added + text.slice(at + removed);
        }
        ask(check(text), Math.floor(place * text.length));
      }),
      runs(300),
    );
  });
});
