import { describe, expect, test } from 'vitest';
import { MarkupContent } from 'vscode-languageserver';
import { check } from '../../layout';
import { placedKeys } from '../../layout/format/reference';
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

describe('the hover of any key', () => {
  const NAMES = ['![x](https://example.com/x.png)', '[run](command:x)', '<img src=x>', '`x`', '_x_ **y**', '\\n# z'];
  const sections = placedKeys().filter(({ path }) => !path.startsWith('phases.') && !path.startsWith('modules.'));

  test.each(NAMES)('is escaped where the author chooses the name, here %j', (name) => {
    const phases = placedKeys()
      .filter(({ path }) => path.startsWith('phases.<name>.') && path.split('.').length === 3)
      .map(({ name: key }) => `    ${key}: 1\n`);
    const text = `layout: 1\nworld_size: 8\nphases:\n  "${name}":\n${phases.join('')}modules:\n  "${name}":\n    tp: 2\n    rank_offset: 0\n  "b${name}": {tp: 2, num_ranks: 2}\n`;
    expect(phases.length).toBeGreaterThan(3);
    const checked = check(text);
    for (let offset = 0; offset < text.length; offset++) {
      const contents = hover(checked, offset)?.contents;
      const shown = MarkupContent.is(contents) ? contents.value : '';
      // code spans show what they hold
      expect(shown.replaceAll(/(`+)[^`][\s\S]*?\1(?!`)/g, '').replaceAll(/\\./g, '')).not.toMatch(
        /!\[|\]\(|<img|command:|^# z/m,
      );
    }
  });

  test('escapes the texts of every section', () => {
    const attack = '![x](https://example.com/x.png)';
    const text = sections
      .filter(({ path, spec }) => !path.includes('.') && spec.type !== 'map')
      .map(({ name }) => `${name}: "${attack}"\n`)
      .concat(
        sections
          .filter(({ path, spec }) => !path.includes('.') && spec.type === 'map')
          .map(
            ({ name, path: section }) =>
              `${name}:\n${sections
                .filter(({ path }) => path.startsWith(`${section}.`) && path.split('.').length === 2)
                .map((key) => `  ${key.name}: "${attack}"\n`)
                .join('')}`,
          ),
      )
      .join('');
    const checked = check(text);
    for (const { index } of text.matchAll(/!|^ *\w/gm)) {
      const contents = hover(checked, index)?.contents;
      expect(MarkupContent.is(contents) ? contents.value : '').not.toContain('example.com');
    }
  });
});

describe('the hover of a degree', () => {
  const LAYOUT = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
parallelism: {tp: 4}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256, gated_linear_unit: true}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 64}
optimizer: {use_distributed_optimizer: true}
`;

  test('says what half and twice of it would cost', () => {
    const lines = hoverAt(LAYOUT, 'tp: 4')
      .split('\n')
      .filter((line) => line.startsWith('- tp'));
    expect(lines.map((line) => line.replace(/\d+(\.\d+)?(?= (GiB|%))|(?<=\([+−])[\d.]+/g, 'N'))).toEqual([
      '- tp 2: about N GiB a GPU (+N), NVLink traffic −N %, network traffic +N %, step time −N %, by estimate',
      '- tp 8: about N GiB a GPU (−N), NVLink traffic +N %, network traffic −N %, step time +N %, by estimate',
    ]);
  });

  test('says nothing of costs that cannot be estimated', () => {
    expect(hoverAt(LAYOUT.replace('hidden_size: 4096, ', ''), 'tp: 4')).not.toContain('estimate');
  });
});
