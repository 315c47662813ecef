import { describe, expect, test } from 'vitest';
import { MarkupContent } from 'vscode-languageserver';
import { check } from '../../layout';
import { hover } from './hover';

/** The hover at the first place of a text in a layout. */
function hoverAt(text: string, place: string): string {
  const found = hover(check(text), text.indexOf(place));
  return MarkupContent.is(found?.contents) ? found.contents.value : '';
}

describe('the hover of a module', () => {
  test.each([
    ['![x](https://example.com/x.png)', '**\\!\\[x\\]\\(https&#58;//example\\.com/x\\.png\\)**: one module of the job'],
    ['[run](command:x)', '**\\[run\\]\\(command&#58;x\\)**: one module of the job'],
    ['<img src=x>', '**\\<img src=x\\>**: one module of the job'],
    ['a\\n# b', '**a\\\\n\\# b**: one module of the job'],
  ])('shows the name %j as text', (name, shown) => {
    const text = `layout: 1\nworld_size: 2\nmodules:\n  "${name}": {tp: 2}\n`;
    expect(hoverAt(text, '"').split('\n')[0]).toBe(shown);
  });

  test('shows the name as code where a rank lies', () => {
    const text =
      'layout: 1\nworld_size: 4\nmodules:\n  "![`x`](y)": {tp: 2, num_ranks: 2, rank_offset: 2}\n  language: {tp: 2, num_ranks: 2}\n';
    expect(hoverAt(text, '2}\n  language')).toContain('In `` ![`x`](y) ``: tp 0 of 2.');
  });
});
